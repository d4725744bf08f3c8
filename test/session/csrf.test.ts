import { describe, expect, it } from 'vitest';
import { requireSameOrigin } from '../../src/session/csrf.ts';

const HOME = 'https://console.acme.example';
const ORIGINS = new Set([HOME, 'https://console2.acme.example']);

describe('requireSameOrigin', () => {
  it.each([
    ['a page of the tenant', { 'sec-fetch-site': 'same-origin', origin: HOME }],
    ['a GET-like upgrade without Origin', { 'sec-fetch-site': 'same-origin' }],
    ['a page with Referrer-Policy: no-referrer', { 'sec-fetch-site': 'same-origin', origin: 'null' }],
    ['an old browser on the tenant’s origin', { origin: HOME }],
    ['an old browser on the tenant’s other origin', { origin: 'https://console2.acme.example' }],
    ['a program that says so', { 'x-countersign': '1' }],
  ])('lets %s pass', (_who, headers) => {
    expect(() => requireSameOrigin(headers, ORIGINS)).not.toThrow();
  });

  it.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a page of a sibling subdomain', { 'sec-fetch-site': 'same-site', origin: 'https://blog.acme.example' }],
    ['a link from outside the browser', { 'sec-fetch-site': 'none' }],
    ['a value that is not defined', { 'sec-fetch-site': 'same-origin-ish' }],
    ['the value in another case', { 'sec-fetch-site': 'Same-Origin' }],
    ['an empty Sec-Fetch-Site', { 'sec-fetch-site': '' }],
    ['two Sec-Fetch-Site headers', { 'sec-fetch-site': 'same-origin, same-origin' }],
    ['two Sec-Fetch-Site headers, kept apart', { 'sec-fetch-site': ['same-origin', 'same-origin'] }],
    ['same-origin with a foreign Origin', { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }],
    ['same-origin with an empty Origin', { 'sec-fetch-site': 'same-origin', origin: '' }],
    ['same-origin with two Origins', { 'sec-fetch-site': 'same-origin', origin: `${HOME}, ${HOME}` }],
    ['cross-site under the Origin of the tenant', { 'sec-fetch-site': 'cross-site', origin: HOME }],
    ['cross-site that calls itself a program', { 'sec-fetch-site': 'cross-site', 'x-countersign': '1' }],
    ['an old browser elsewhere', { origin: 'https://evil.example' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['a sandboxed frame that calls itself a program', { origin: 'null', 'x-countersign': '1' }],
    ['another scheme', { origin: 'http://console.acme.example' }],
    ['another port', { origin: `${HOME}:8443` }],
    ['a longer name', { origin: `${HOME}.evil.example` }],
    ['a shorter name', { origin: 'https://console.acme.exampl' }],
    ['the Origin in another case', { origin: HOME.toUpperCase() }],
    ['two Origins', { origin: `${HOME}, https://evil.example` }],
    ['two Origins, kept apart', { origin: [HOME, HOME] }],
    ['no proof at all, as a plain HTML form of an old browser', {}],
    ['another value of the program’s header', { 'x-countersign': 'true' }],
    ['the program’s header twice', { 'x-countersign': '1, 1' }],
    ['only a Referer', { referer: `${HOME}/` }],
  ])('refuses %s', (_who, headers) => {
    expect(() => requireSameOrigin(headers, ORIGINS)).toThrow(expect.objectContaining({ code: 'csrf', status: 403 }));
  });
});
