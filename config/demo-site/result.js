import { element } from './element.js';
import { explain } from './explain.js';

/** Shows what came of a request: its status, what it says, and what the gateway did with it. */
export function showReply(output, reply, text) {
  const { problem, requestId } = reply;
  output.replaceChildren(
    element(
      'p',
      { class: 'headline' },
      element(
        'span',
        { class: 'status', 'data-kind': kindOf(reply.status) },
        reply.status === 0 ? 'none' : String(reply.status),
      ),
      element('strong', {}, problem ? problem.title : text),
      problem && element('code', {}, problem.code),
    ),
    ...(problem ? [element('p', {}, problem.detail)] : []),
    element(
      'p',
      { class: 'did' },
      explain(reply),
      problem && requestId && element('span', { class: 'request-id' }, ' Request ', element('code', {}, requestId)),
    ),
  );
}

/** Shows a line that comes of no request. */
export function showText(output, text, ...more) {
  output.replaceChildren(element('p', { class: 'did' }, text), ...more);
}

/** The class of a status: `good`, `refused` (the caller's doing) or `failed`. */
export function kindOf(status) {
  if (status >= 200 && status < 400) return 'good';
  return status >= 400 && status < 500 ? 'refused' : 'failed';
}
