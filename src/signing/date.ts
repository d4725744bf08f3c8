/** An instant in the two forms a signature needs, both from the same millisecond. */
export interface Stamp {
  /** `YYYYmmddTHHMMSSZ`, sent as Date and X-<Brand>-Date and signed. */
  readonly basic: string;
  /** `YYYYmmdd`, the first message of the key derivation. */
  readonly day: string;
}

let cached: Stamp & { readonly second: number } = { second: Number.NaN, basic: '', day: '' };

/** The stamp of an instant in epoch milliseconds. One is built per second and reused within it. */
export function stampOf(epochMs: number): Stamp {
  const second = Math.floor(epochMs / 1000);
  if (second !== cached.second) {
    const basic = `${new Date(second * 1000).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
    cached = { second, basic, day: basic.slice(0, 8) };
  }
  return cached;
}

const ISO_8601 =
  /^(\d{4})-?(\d{2})-?(\d{2})[Tt ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2})?)?$/;
const RFC_822 =
  /^(?:[A-Z][a-z]{2}, ?)?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}|\d{2}) (\d{2}):(\d{2})(?::(\d{2}))?(?: (?:GMT|UTC?|Z|([+-])(\d{2})(\d{2})))?$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Reads a Date header in ISO 8601 (extended or basic) or RFC 822/1123 form; without a timezone it is UTC
 * (service-api.md §4). Gives epoch milliseconds, or undefined when the text is no real instant.
 */
export function parseDate(text: string): number | undefined {
  const iso = ISO_8601.exec(text);
  if (iso) {
    const [, year, month, day, hour, minute, second = '0', fraction = '', , sign, offHour = '0', offMinute = '0'] = iso;
    const ms = Math.floor(Number(`0.${fraction || '0'}`) * 1000);
    return instant(Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second), ms, {
      sign,
      minutes: Number(offHour) * 60 + Number(offMinute),
    });
  }
  const rfc = RFC_822.exec(text);
  if (!rfc) return undefined;
  const [, day, monthName = '', yearText = '', hour, minute, second = '0', sign, offHour = '0', offMinute = '0'] = rfc;
  const year = yearText.length === 4 ? Number(yearText) : Number(yearText) + (Number(yearText) < 50 ? 2000 : 1900);
  return instant(year, MONTHS.indexOf(monthName) + 1, Number(day), Number(hour), Number(minute), Number(second), 0, {
    sign,
    minutes: Number(offHour) * 60 + Number(offMinute),
  });
}

function instant(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
  ms: number,
  offset: { sign: string | undefined; minutes: number },
): number | undefined {
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second, ms));
  const isReal =
    month >= 1 &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  if (!isReal || year < 1000) return undefined;
  const direction = offset.sign === '-' ? 1 : -1;
  return date.getTime() + (offset.sign === undefined ? 0 : direction * offset.minutes * 60_000);
}
