import { Pool } from 'undici';
import type { LoadOrder } from '../load/built-in.ts';
import type { LoadResult } from '../load.ts';

/** The built-in load generator. Argument: a LoadOrder as JSON; it prints a LoadResult. */
const { origin, request, connections, seconds } = JSON.parse(process.argv[2] ?? '') as LoadOrder;
const pool = new Pool(origin, { connections, headersTimeout: 5000, bodyTimeout: 5000 });
const startedAt = performance.now();
const endsAt = startedAt + seconds * 1000;
let requests = 0;
let errors = 0;

async function askAgainAndAgain(): Promise<void> {
  while (performance.now() < endsAt) {
    try {
      const { statusCode, body } = await pool.request(request);
      await body.dump({ limit: Number.MAX_SAFE_INTEGER });
      requests++;
      if (statusCode >= 400) errors++;
    } catch {
      errors++;
    }
  }
}

await Promise.all(Array.from({ length: connections }, askAgainAndAgain));
const result: LoadResult = { requests, errors, seconds: (performance.now() - startedAt) / 1000 };
process.stdout.write(`${JSON.stringify(result)}\n`);
await pool.close();
