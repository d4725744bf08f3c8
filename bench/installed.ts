import { fileURLToPath } from 'node:url';

/** Where `npm run bench:peers` puts what it installs, a folder for each kind: npm, python, go. */
export const INSTALLED = fileURLToPath(new URL('../.peers', import.meta.url));
