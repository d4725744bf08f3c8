import type { Audit } from './audit.ts';
import type { Log } from './log.ts';

interface AboutKeypair {
  readonly tenant: string;
  readonly role: string;
  readonly accessKey: string;
  /** Of the request that brought it to light. */
  readonly requestId: string;
}

/** What an operator has to know of a role's keypairs, once for each change. Never holds a secret. */
export type KeypairEvent =
  /** The Service refuses the keypair; it is set aside until `until` (epoch milliseconds). */
  | (AboutKeypair & {
      readonly kind: 'refused';
      readonly until: number;
      /** Access key that signs in its place; undefined when the role has no other that is good. */
      readonly replacedBy: string | undefined;
    })
  /** The Service accepts the keypair again. */
  | (AboutKeypair & { readonly kind: 'accepted' })
  /** Requests of the role are now signed with this keypair, those before with the one of access key `from`. */
  | (AboutKeypair & { readonly kind: 'rotated'; readonly from: string });

export type KeypairListener = (event: KeypairEvent) => void;

/**
 * Tells the log and whoever else listens. A refusal is an error where users see it, a warning where another keypair took
 * over.
 */
export function keypairAlarm(log: Log, listener?: KeypairListener): KeypairListener {
  return (event) => {
    const { kind, ...fields } = event;
    if (kind === 'refused') {
      const line = { ...fields, until: new Date(event.until).toISOString() };
      if (event.replacedBy === undefined) log.error(line, 'keypair refused');
      else log.warn(line, 'keypair refused');
    } else {
      log.info(fields, kind === 'accepted' ? 'keypair accepted again' : 'keypair rotated');
    }
    listener?.(event);
  };
}

/** Records in the audit log what becomes of keypairs. */
export function keypairTrail(audit: Audit): KeypairListener {
  return (event) => {
    const { tenant, role, accessKey, requestId, kind } = event;
    if (kind === 'refused') {
      const { replacedBy } = event;
      const until = new Date(event.until).toISOString();
      audit.record({ event: 'keypair-refused', tenant, requestId, detail: { role, accessKey, until, replacedBy } });
    } else if (kind === 'accepted') {
      audit.record({ event: 'keypair-accepted', tenant, requestId, detail: { role, accessKey } });
    } else {
      audit.record({ event: 'rotation', tenant, requestId, detail: { role, from: event.from, to: accessKey } });
    }
  };
}
