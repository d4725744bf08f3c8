const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function integer(value) {
  return value === null ? '–' : whole.format(value);
}

/** A count in little space: 12.3K. */
export function short(value) {
  if (value === null) return '–';
  return value < 10_000 ? whole.format(value) : compact.format(value);
}

/** Requests per second. */
export function rate(value) {
  if (value === 0) return '0';
  if (value < 1) return value.toFixed(2);
  return value < 100 ? value.toFixed(1) : short(Math.round(value));
}

/** The same on an axis, where round numbers stand. */
export function rateTick(value) {
  return value < 100 ? String(Number(value.toPrecision(3))) : short(value);
}

export function share(part, whole) {
  if (whole === 0 || part === 0) return '0%';
  const percent = (100 * part) / whole;
  if (percent < 0.1) return '<0.1%';
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`;
}

/** Milliseconds as a person says them. */
export function duration(ms) {
  if (ms === null) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** A stretch of time in its largest units. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** How far a clock is off, in words. */
export function skew({ ms, uncertainty }) {
  if (Math.abs(ms) <= Math.max(uncertainty, 1000)) return 'clock in step';
  return `clock ${span(Math.abs(ms))} ${ms > 0 ? 'ahead' : 'behind'}`;
}

export function bytes(value) {
  return value < 1024 ** 3 ? `${Math.round(value / 1024 ** 2)} MiB` : `${(value / 1024 ** 3).toFixed(1)} GiB`;
}

export function timeOfDay(iso) {
  return new Date(iso).toLocaleTimeString('en-GB');
}
