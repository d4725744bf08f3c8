import { describe, expect, it, onTestFinished } from 'vitest';
import { call, codeOf, start } from './client.ts';

/** The relations of a Link header: rel → URL. */
function linksOf(header: string | string[] | undefined): Map<string, string> {
  const links = String(header).matchAll(/<([^>]*)>; rel="([^"]*)"/g);
  return new Map([...links].map(([, url = '', rel = '']) => [rel, url]));
}

async function serveSeven() {
  const service = await start();
  onTestFinished(() => service.close());
  for (let index = 0; index < 7; index++)
    await call(service, 'POST', '/v2/kernel/create', { body: { lang: `l${index}` } });
  return service;
}

describe('a list', () => {
  it('can be walked from first to last by its links, and back', async () => {
    const service = await serveSeven();
    const walk = async (start: string, rel: string) => {
      const pages: unknown[][] = [];
      for (let path: string | undefined = start; path !== undefined; ) {
        const reply = await call(service, 'GET', path);
        pages.push((reply.body['items'] as { lang: string }[]).map(({ lang }) => lang));
        path = linksOf(reply.headers.link).get(rel)?.slice(service.origin.length);
      }
      return pages;
    };
    expect(await walk('/v2/kernel?limit=3', 'next')).toEqual([['l0', 'l1', 'l2'], ['l3', 'l4', 'l5'], ['l6']]);
    expect(await walk('/v2/kernel?limit=3&offset=6', 'prev')).toEqual([['l6'], ['l3', 'l4', 'l5'], ['l0', 'l1', 'l2']]);
  });

  it('links absolutely, on the Host the request named, with the other parameters kept', async () => {
    const service = await serveSeven();
    const reply = await call(service, 'GET', '/v2/kernel?tag=a%26b&limit=2&offset=2', { host: 'api.service.example' });
    const base = 'http://api.service.example/v2/kernel?tag=a%26b&limit=2&offset=';
    expect(linksOf(reply.headers.link)).toEqual(
      new Map([
        ['first', `${base}0`],
        ['prev', `${base}0`],
        ['next', `${base}4`],
        ['last', `${base}6`],
      ]),
    );
    expect(reply.body['total']).toBe(7);
  });

  it('past its end is empty, and leads back', async () => {
    const service = await serveSeven();
    const reply = await call(service, 'GET', '/v2/kernel?limit=5&offset=50');
    expect(reply.body).toEqual({ items: [], total: 7 });
    expect([...linksOf(reply.headers.link).keys()]).toEqual(['first', 'prev', 'last']);
  });

  it('refuses figures that are none', async () => {
    const service = await serveSeven();
    for (const query of ['limit=0', 'limit=101', 'limit=-1', 'limit=1e1', 'limit=', 'offset=x', 'limit=1&limit=2']) {
      expect([query, codeOf(await call(service, 'GET', `/v2/kernel?${query}`))]).toEqual([query, 'invalid-params']);
    }
  });
});
