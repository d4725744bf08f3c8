import { h, s } from './element.js';

const HEIGHT = 220;
const MARGIN = { top: 14, right: 10, bottom: 26, left: 46 };

/**
 * A chart over the last minutes, redrawn at every width. `draw` puts marks into the plot and gives the ticks; `tell` puts
 * one column into words. It can be walked with the pointer or, focused, with the arrow keys.
 */
export class Chart {
  constructor(host, { label, draw, tell, summary }) {
    this.host = host;
    this.options = { label, draw, tell, summary };
    this.tip = h('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
    this.said = h('p', { class: 'unseen', 'aria-live': 'polite' });
    this.figure = h('div', { class: 'plot', role: 'img', tabindex: '0', 'aria-label': label });
    host.append(this.figure, this.tip, this.said);
    new ResizeObserver(() => this.redraw()).observe(host);
    this.figure.addEventListener('pointermove', (event) => this.point(this.columnAt(event)));
    this.figure.addEventListener('pointerleave', () => this.point(undefined));
    this.figure.addEventListener('blur', () => this.point(undefined));
    this.figure.addEventListener('keydown', (event) => this.walk(event));
  }

  show(data) {
    this.data = data;
    this.redraw();
  }

  get count() {
    return this.data.requests.length;
  }

  redraw() {
    const width = this.host.clientWidth;
    if (this.data === undefined || width === 0) return;
    const box = {
      left: MARGIN.left,
      top: MARGIN.top,
      width: width - MARGIN.left - MARGIN.right,
      height: HEIGHT - MARGIN.top - MARGIN.bottom,
    };
    this.box = box;
    const svg = s('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, 'aria-hidden': 'true' });
    const { ticks, y, marks } = this.options.draw(this.data, box);
    for (const { value, text } of ticks) {
      const at = y(value);
      svg.append(
        s('line', { class: 'grid', x1: box.left, x2: box.left + box.width, y1: at, y2: at }),
        s('text', { class: 'tick', x: box.left - 8, y: at + 4, 'text-anchor': 'end' }, text),
      );
    }
    svg.append(...this.timeTicks(box), ...marks);
    this.cursor = s('line', { class: 'cursor', y1: box.top, y2: box.top + box.height, visibility: 'hidden' });
    svg.append(this.cursor);
    this.figure.replaceChildren(svg);
    this.figure.setAttribute('aria-label', `${this.options.label}. ${this.options.summary(this.data)}`);
    if (this.column !== undefined) this.point(this.column, true);
  }

  timeTicks(box) {
    const minutes = (this.count * this.data.step) / 60;
    const every = box.width < 360 ? 2 : 1;
    const texts = [];
    for (let minute = Math.floor(minutes); minute >= 0; minute--) {
      if (minute % every !== 0 && minute !== 0) continue;
      const x = box.left + box.width * (1 - minute / minutes);
      const anchor = minute === 0 ? 'end' : minute === minutes ? 'start' : 'middle';
      const text = minute === 0 ? 'now' : `−${minute} min`;
      texts.push(s('text', { class: 'tick', x, y: HEIGHT - 6, 'text-anchor': anchor }, text));
    }
    return texts;
  }

  columnAt(event) {
    const { left, width } = this.box;
    const x = event.clientX - this.figure.getBoundingClientRect().left - left;
    const column = Math.floor((x / width) * this.count);
    return column < 0 || column >= this.count ? undefined : column;
  }

  walk(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -this.count, End: this.count };
    const step = steps[event.key];
    if (event.key === 'Escape') this.point(undefined);
    if (step === undefined) return;
    event.preventDefault();
    const from = this.column ?? this.count;
    this.point(Math.min(this.count - 1, Math.max(0, from + step)));
    this.said.textContent = this.tip.textContent;
  }

  point(column, again = false) {
    if (column === this.column && !again) return;
    this.column = column;
    this.tip.hidden = column === undefined;
    this.cursor?.setAttribute('visibility', column === undefined ? 'hidden' : 'visible');
    if (column === undefined) return;
    const x = this.box.left + (this.box.width * (column + 0.5)) / this.count;
    this.cursor.setAttribute('x1', x);
    this.cursor.setAttribute('x2', x);
    const ago = (this.count - column) * this.data.step;
    this.tip.replaceChildren(
      h('b', {}, `${ago} s ago`),
      ...this.options.tell(this.data, column).map((line) => h('span', {}, line)),
    );
    const tipWidth = this.tip.offsetWidth;
    this.tip.style.left = `${Math.min(Math.max(x - tipWidth / 2, 0), this.host.clientWidth - tipWidth)}px`;
  }
}

/** A round number at or above `value`: 1, 2, 4, 5 or 10 times a power of ten. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value * 0.999) ?? value;
}
