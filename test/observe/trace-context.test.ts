import { describe, expect, it } from 'vitest';
import { formatTraceparent, readTraceContext } from '../../src/observe/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const SOUND = `00-${TRACE}-${SPAN}-01`;

describe('a traceparent', () => {
  it('is read into its parts and written again', () => {
    expect(readTraceContext(SOUND, undefined)).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      sampled: true,
      state: undefined,
    });
    expect(readTraceContext(`00-${TRACE}-${SPAN}-00`, undefined)?.sampled).toBe(false);
    expect(formatTraceparent(TRACE, SPAN, true)).toBe(SOUND);
    expect(formatTraceparent(TRACE, SPAN, false)).toBe(`00-${TRACE}-${SPAN}-00`);
  });

  it('keeps the sampled flag and no other', () => {
    expect(readTraceContext(`00-${TRACE}-${SPAN}-ff`, undefined)?.sampled).toBe(true);
    expect(readTraceContext(`00-${TRACE}-${SPAN}-fe`, undefined)?.sampled).toBe(false);
  });

  it.each([
    ['of a later version', `01-${TRACE}-${SPAN}-01`],
    ['of the version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['with something behind it', `${SOUND}-extra`],
    ['with a line break behind it', `${SOUND}\n`],
    ['sent twice', `${SOUND}, ${SOUND}`],
    ['in upper case', SOUND.toUpperCase()],
    ['with a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['with a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['with flags of one digit', `00-${TRACE}-${SPAN}-1`],
    ['with letters that are no hex digits', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['with spaces around it', ` ${SOUND} `],
    ['that is empty', ''],
  ])('%s is none', (_, value) => {
    expect(readTraceContext(value, 'a=1')).toBeUndefined();
  });

  it('is none when absent, whatever the tracestate', () => {
    expect(readTraceContext(undefined, 'a=1')).toBeUndefined();
  });
});

describe('a tracestate', () => {
  const state = (value: unknown) => {
    const context = readTraceContext(SOUND, value);
    expect(context?.traceId).toBe(TRACE);
    return context?.state;
  };

  it.each([
    'a=1',
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    'fw529a3039@dt=FfAvY;b@c',
    '0tenant@system=x',
    'a_-*/9=!"#$%&()*+-./:;<>?@[]^_`{|}~',
    `a=${'x'.repeat(256)}`,
    Array.from({ length: 32 }, (_, i) => `k${i}=1`).join(','),
  ])('passes as it came: %s', (value) => {
    expect(state(value)).toBe(value);
  });

  it('may have blanks around its members and empty ones between', () => {
    expect(state('a=1 , ,\tb=2,')).toBe('a=1,b=2');
    expect(state('a=inner blank')).toBe('a=inner blank');
  });

  it.each([
    ['longer than 512 characters', `a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(20)}`],
    ['of more than 32 members', Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(',')],
    ['with a key twice', 'a=1,b=2,a=3'],
    ['with a key in upper case', 'A=1'],
    ['with a key that begins with a digit and names no tenant', '0a=1'],
    ['with a key too long', `${'a'.repeat(257)}=1`],
    ['with a system too long', `a@${'b'.repeat(15)}=1`],
    ['with a member that is no pair', 'a=1,b'],
    ['with an empty value', 'a='],
    ['with a value too long', `a=${'x'.repeat(257)}`],
    ['with = in a value', 'a=b=c'],
    ['with a byte outside ASCII', 'a=é'],
    ['with a line break', 'a=1\nb=2'],
    ['that is empty', ''],
    ['of nothing but blanks', ' , '],
  ])('%s is dropped, the trace kept', (_, value) => {
    expect(state(value)).toBeUndefined();
  });
});
