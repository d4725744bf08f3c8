import { onReply } from './api.js';
import { byId, element } from './element.js';
import { kindOf } from './result.js';

const KEPT = 8;
const MILLISECONDS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });

/** The last requests of this page, newest first. */
export function startLog() {
  const rows = byId('log');
  onReply(({ method, path, status, ms, quota }) => {
    rows.prepend(
      element(
        'tr',
        {},
        element('td', {}, element('b', {}, method), ' ', element('span', {}, path)),
        element(
          'td',
          {},
          element('span', { class: 'status', 'data-kind': kindOf(status) }, status === 0 ? 'none' : String(status)),
        ),
        element('td', { class: 'number' }, MILLISECONDS.format(ms)),
        element('td', { class: 'number' }, quota ? String(quota.remaining) : '–'),
      ),
    );
    while (rows.rows.length > KEPT) rows.rows[KEPT].remove();
    byId('log-empty').hidden = true;
  });
}
