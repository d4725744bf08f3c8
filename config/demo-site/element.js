/** The element of this id; a page without it is a mistake in index.html. */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/** Makes an element. Text is always text, never markup: what a server says cannot become part of the page. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') made.addEventListener('click', value);
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Runs `work` with the button out of service, so that an impatient second press is no second request. */
export async function whileBusy(button, work) {
  if (button.getAttribute('aria-disabled') === 'true') return;
  // Not `disabled`: that would take the keyboard's focus away from the button.
  button.setAttribute('aria-disabled', 'true');
  try {
    await work();
  } finally {
    button.removeAttribute('aria-disabled');
  }
}
