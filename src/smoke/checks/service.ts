import { type Check, NotApplicable, RELAYED } from '../check.ts';
import { type Exchange, member } from '../exchange.ts';
import { mustHaveRate } from './problem.ts';

const WITH_BODY = [...RELAYED, 'signing.body-hash'];

/** The Service itself, seen through the gateway (service-api.md). */
export const serviceChecks: readonly Check[] = [
  {
    id: 'service.version',
    says: 'GET /v2 tells the latest version, vX.yyyymmdd',
    rule: 'service-api.md §4, §9.3',
    needs: 'outside',
    after: ['session.login', 'signing.signature'],
    async run(c) {
      const exchange = await (await c.user()).fetch('GET', '/v2');
      exchange.must(exchange.status === 200, '200');
      exchange.must(exchange.header('content-type')?.startsWith('application/json') === true, 'application/json');
      const version = member(exchange.json, 'version');
      exchange.must(typeof version === 'string' && /^v\d+\.\d{8}$/.test(version), 'version: vX.yyyymmdd');
    },
  },
  {
    id: 'service.head',
    says: 'HEAD /v2 is answered as GET, without a body',
    rule: 'design §7',
    needs: 'outside',
    after: RELAYED,
    async run(c) {
      const exchange = await (await c.user()).fetch('HEAD', '/v2');
      exchange.must(exchange.status === 200 && exchange.reply.body.length === 0, '200 and no body');
    },
  },
  {
    id: 'service.problem',
    says: 'the Service’s own refusals arrive as problems with type, title and detail, and its rate headers',
    rule: 'service-api.md §7.2, §7.3, §7.5',
    needs: 'outside',
    after: [...RELAYED, 'problem.content-type', 'problem.rate-headers'],
    async run(c) {
      const exchange = await (await c.user()).fetch('GET', `/v2/kernel/${crypto.randomUUID()}`);
      if (exchange.isOwnRefusal('no-route', 'forbidden'))
        throw new NotApplicable('GET /v2/kernel is on no route of the tenant');
      exchange.must(exchange.status >= 400, 'a refusal: there is no such kernel');
      exchange.must(exchange.header('content-type') === 'application/problem+json', 'application/problem+json');
      const { json } = exchange;
      const texts = ['type', 'title', 'detail'].map((name) => member(json, name));
      exchange.must(
        texts.every((text) => typeof text === 'string' && text !== ''),
        'the texts type, title and detail',
      );
      exchange.must(URL.canParse(String(member(json, 'type'))), 'a URL as type');
      mustHaveRate(exchange);
    },
  },
  {
    id: 'service.kernel',
    says: 'a kernel is created, read, listed and ended; its Location is on the tenant’s origin',
    rule: 'service-api.md §1, §4; design §12',
    needs: 'inside',
    after: WITH_BODY,
    async run(c) {
      const user = await c.user();
      const created = await user.fetch('POST', '/v2/kernel/create', { body: '{"lang":"smoke"}' });
      created.must(created.status === 201, '201');
      const id = member(created.json, 'id');
      const location = `${user.site.origin}/v2/kernel/${id}`;
      created.must(created.header('location') === location, `Location: ${location}`);
      const expectedKey = c.inside.visitorAccessKey;
      created.must(member(created.json, 'access_key') === expectedKey, `a kernel of the access key ${expectedKey}`);
      const read = await user.fetch('GET', `/v2/kernel/${id}`);
      read.must(read.status === 200 && member(read.json, 'id') === id, '200 and the kernel');
      const ended = await user.fetch('DELETE', `/v2/kernel/${id}`);
      ended.must(ended.status === 204, '204');
      const gone = await user.fetch('GET', `/v2/kernel/${id}`);
      gone.must(gone.status === 404, '404');
    },
  },
  {
    id: 'service.report',
    says: 'REPORT with a body asks about the kernels it names',
    rule: 'service-api.md §4, Method and Body',
    needs: 'inside',
    after: WITH_BODY,
    async run(c) {
      const user = await c.user();
      const created = await user.fetch('POST', '/v2/kernel/create', { body: '{"lang":"smoke"}' });
      const id = member(created.json, 'id');
      const exchange = await user.fetch('REPORT', '/v2/kernel', { body: JSON.stringify({ ids: [id] }) });
      const [item] = itemsOf(exchange);
      exchange.must(exchange.status === 200 && member(item, 'id') === id, '200 and the statistics of that kernel');
      await user.fetch('DELETE', `/v2/kernel/${id}`);
    },
  },
  {
    id: 'service.links',
    says: 'a list is paged by Link headers, which lead through the gateway to its end',
    rule: 'service-api.md §4, Link; RFC 8288',
    needs: 'inside',
    after: WITH_BODY,
    async run(c) {
      const user = await c.user();
      const names = ['smoke-1', 'smoke-2', 'smoke-3'];
      for (const name of names) await user.fetch('POST', '/v2/vfolder/create', { body: JSON.stringify({ name }) });
      const seen: unknown[] = [];
      let path: string | undefined = '/v2/vfolder?limit=1';
      while (path !== undefined && seen.length <= names.length) {
        const exchange: Exchange = await user.fetch('GET', path);
        seen.push(...itemsOf(exchange).map((item) => member(item, 'name')));
        const next = /<([^>]*)>; rel="next"/.exec(exchange.header('link') ?? '')?.[1];
        const isOwn = next === undefined || next.startsWith(`${user.site.origin}/v2/`);
        exchange.must(isOwn, `links on ${user.site.origin}`);
        if (next === undefined) exchange.must(seen.join() === names.join(), `${names.join(', ')} on the way`);
        path = next?.slice(user.site.origin.length);
      }
    },
  },
  {
    id: 'service.put-patch',
    says: 'PUT keeps a document, GET gives it back byte for byte, PATCH renames',
    rule: 'service-api.md §4, Method',
    needs: 'inside',
    after: [...WITH_BODY, 'upstream.body'],
    async run(c) {
      const user = await c.user();
      const created = await user.fetch('POST', '/v2/vfolder/create', { body: '{"name":"smoke"}' });
      const path = `/v2/vfolder/${member(created.json, 'id')}`;
      const document = '{"b": 1,  "a": "\u00e9"}';
      const put = await user.fetch('PUT', `${path}/files/smoke`, { body: document });
      put.must(put.status === 201, '201');
      const read = await user.fetch('GET', `${path}/files/smoke`);
      read.must(read.text === document, `the document ${document}`);
      const renamed = await user.fetch('PATCH', path, { body: '{"name":"smoke-renamed"}' });
      renamed.must(renamed.status === 200 && member(renamed.json, 'name') === 'smoke-renamed', '200 and the new name');
      const deleted = await user.fetch('DELETE', path);
      deleted.must(deleted.status === 204, '204');
    },
  },
];

function itemsOf(exchange: Exchange): readonly unknown[] {
  const items = member(exchange.json, 'items');
  return Array.isArray(items) ? items : [];
}
