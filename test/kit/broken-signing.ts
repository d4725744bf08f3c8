import { DayKeyCache } from '../../src/signing/day-key.ts';

/*
 * A defect, for a process started with `--import` of this file: the first thing it has to sign, it fails at, by an error
 * nobody foresaw that names what it had in hand.
 */

const sound = DayKeyCache.prototype.get;

DayKeyCache.prototype.get = (accessKey, secretKey) => {
  DayKeyCache.prototype.get = sound;
  throw new TypeError(`no key for ${accessKey}, ${secretKey.length} characters`);
};
