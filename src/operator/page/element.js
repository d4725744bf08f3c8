const SVG = 'http://www.w3.org/2000/svg';

/** Makes an element; children are elements or text, never markup: what the gateway says is shown, not interpreted. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== false));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Draws into an element only when what is drawn has changed, so that a selection outlives the next poll. */
export function drawer(id, draw) {
  let shown;
  return (data) => {
    const key = JSON.stringify(data);
    if (key === shown) return;
    shown = key;
    byId(id).replaceChildren(...[draw(data)].flat());
  };
}
