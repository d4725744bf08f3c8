import { onReply } from './api.js';
import { byId } from './element.js';
import { onSession } from './identity.js';

const gauge = byId('quota');
const meter = gauge.querySelector('[role="meter"]');
const part = (name) => gauge.querySelector(`[data-quota="${name}"]`);
const NUMBER = new Intl.NumberFormat();

/** When the window frees its next request, epoch milliseconds; undefined when nothing is spent or known. */
let freeAt;

/** The Service's `X-RateLimit-*` as its last answer gave them: they belong to the keypair that signed. */
export function startGauge() {
  onReply(({ quota }) => quota && show(quota));

  let role;
  onSession(({ roles: [next] }) => {
    if (role !== undefined && next !== role) forget();
    role = next;
  });

  setInterval(countDown, 1000);
}

function show({ limit, remaining, reset }) {
  const share = limit > 0 ? Math.max(0, Math.min(1, remaining / limit)) : 0;
  gauge.dataset.level = share === 0 ? 'empty' : share < 0.25 ? 'low' : 'full';
  part('remaining').textContent = NUMBER.format(remaining);
  part('limit').textContent = `of ${NUMBER.format(limit)} requests left`;
  // Through the object model: a style attribute would be refused by the page's Content-Security-Policy.
  meter.firstElementChild.style.setProperty('--share', String(share));
  meter.setAttribute('aria-valuemax', String(limit));
  meter.setAttribute('aria-valuenow', String(remaining));
  meter.setAttribute('aria-valuetext', `${NUMBER.format(remaining)} of ${NUMBER.format(limit)} requests left`);
  freeAt = remaining < limit ? Date.now() + reset * 1000 : undefined;
  countDown();
}

function forget() {
  gauge.dataset.level = 'unknown';
  part('remaining').textContent = '–';
  part('limit').textContent = 'not seen yet';
  part('reset').textContent = 'Another role, another keypair, another quota.';
  meter.setAttribute('aria-valuenow', '0');
  meter.setAttribute('aria-valuetext', 'not seen yet');
  freeAt = undefined;
}

function countDown() {
  if (freeAt === undefined) return;
  const seconds = Math.max(0, Math.round((freeAt - Date.now()) / 1000));
  part('reset').textContent =
    seconds > 0 ? `The next one is freed in ${duration(seconds)}.` : 'A request has been freed since.';
}

function duration(seconds) {
  const unit = (value, name) =>
    new Intl.NumberFormat(undefined, { style: 'unit', unit: name, unitDisplay: 'short' }).format(value);
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  return [minutes > 0 && unit(minutes, 'minute'), rest > 0 && unit(rest, 'second')].filter(Boolean).join(' ');
}
