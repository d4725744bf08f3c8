import { runWorker, type WorkerHost } from '../workers/run-worker.ts';
import { CliError, type Command, EXIT } from './command.ts';

/** Not listed: `serve` starts it, and it can do nothing without the channel to its primary. */
export const workerCommand: Command = {
  name: 'worker',
  summary: 'serve requests for a primary',
  help: `Usage: none

countersign serve starts its workers by this command (config key: workers). It is of no use by itself.
`,
  async run() {
    if (process.send === undefined) throw new CliError('workers are started by countersign serve');
    await runWorker(process as WorkerHost);
    return EXIT.ok;
  },
};
