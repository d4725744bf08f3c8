/** Slot name → amount as a decimal string, `{"cpu": "4", "mem": "17179869184", "cuda.shares": "0.5"}`. */
export type ResourceSlots = Readonly<Record<string, string>>;

const MAX_SLOTS = 64;
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const AMOUNT = /^\d{1,30}(?:\.\d{1,30})?$/;

/** Whether a value is a ResourceSlot mapping: an object of decimal strings, not numbers, which would lose digits. */
export function isResourceSlots(value: unknown): value is ResourceSlots {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const slots = Object.entries(value);
  const isSlot = ([name, amount]: [string, unknown]) =>
    NAME.test(name) && typeof amount === 'string' && AMOUNT.test(amount);
  return slots.length <= MAX_SLOTS && slots.every(isSlot);
}
