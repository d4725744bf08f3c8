import { onReply } from './api.js';
import { startAsking } from './ask.js';
import { startFlow } from './flow.js';
import { startGauge } from './gauge.js';
import { startGroups } from './groups.js';
import { hasRole } from './identity.js';
import { startLog } from './log.js';
import { startRefusals } from './refusals.js';
import { refreshSession, startSession } from './session.js';

startLog();
startSession();
startGauge();
startAsking();
startGroups();
startRefusals();
await refreshSession();
startFlow();

// A session that ended on the server has to end on the page.
onReply(({ status, relayed, path, anonymous }) => {
  const ended = status === 401 && !relayed && path.startsWith('/v2') && !anonymous;
  if (ended && (hasRole('visitor') || hasRole('admin'))) refreshSession();
});
