import { existsSync } from 'node:fs';
import { Channel } from '../../../src/workers/channel.ts';

/** A worker that can start as long as the file of its argument is there. */
if (!existsSync(process.argv[2] ?? '')) process.exit(3);
const nothing = () => undefined;
new Channel(process, { start: nothing, listen: nothing, stop: () => process.exit(0) });
