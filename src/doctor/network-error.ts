/** What a network error means, in words. */
export interface Trouble {
  readonly says: string;
  readonly hint?: string;
}

const WORDS: Readonly<Record<string, Trouble>> = {
  ENOTFOUND: {
    says: 'The name is not known to DNS.',
    hint: 'Check the spelling in upstream.endpoints, and /etc/hosts.',
  },
  EAI_AGAIN: { says: 'The name server does not answer.', hint: 'Check the DNS settings of this machine.' },
  ECONNREFUSED: {
    says: 'The connection was refused: nothing listens there.',
    hint: 'Is the upstream running, and is the port right?',
  },
  ETIMEDOUT: { says: 'No answer in time.', hint: 'A firewall may be dropping the packets.' },
  EHOSTUNREACH: { says: 'There is no route to the host.', hint: 'Check the network between here and there.' },
  ENETUNREACH: { says: 'There is no route to its network.', hint: 'Check the network between here and there.' },
  ECONNRESET: {
    says: 'The connection was broken by the other side.',
    hint: 'A TLS port that is spoken to in plain HTTP, or the reverse, does that; so do some firewalls.',
  },
  EPROTO: {
    says: 'The TLS handshake failed.',
    hint: 'Does the upstream ask for a client certificate? Then give it one: upstream.tls.clientCertificate.',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    says: 'The port does not speak TLS.',
    hint: 'Should the endpoint begin with http://?',
  },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: {
    says: 'The port does not speak TLS.',
    hint: 'Should the endpoint begin with http://?',
  },
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: {
    says: 'Both sides share no version of TLS.',
    hint: 'The upstream must offer TLS 1.2 or newer.',
  },
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: {
    says: 'The upstream has no certificate for the name it was asked for.',
    hint: 'TLS asks for the Host that is sent: check upstream.signedHost and upstream.tls.serverName.',
  },
  SELF_SIGNED_CERT_IN_CHAIN: {
    says: 'The certificate’s chain ends at an authority this machine does not trust.',
    hint: 'Give its authority to the gateway: upstream.tls.ca, or NODE_EXTRA_CA_CERTS=/path/to/ca.pem.',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: {
    says: 'The certificate is signed by itself, and this machine does not trust it.',
    hint: 'Give it to the gateway: upstream.tls.ca, or NODE_EXTRA_CA_CERTS=/path/to/certificate.pem.',
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    says: 'The upstream does not send the certificates between its own and a trusted authority.',
    hint: 'Configure the full chain at the upstream, or give the missing ones to the gateway: upstream.tls.ca.',
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    says: 'The certificate’s issuer is not trusted by this machine.',
    hint: 'Give its authority to the gateway: upstream.tls.ca, or NODE_EXTRA_CA_CERTS=/path/to/ca.pem.',
  },
  CERT_HAS_EXPIRED: { says: 'The certificate has expired.', hint: 'Renew it at the upstream.' },
  CERT_NOT_YET_VALID: {
    says: 'The certificate is not valid yet.',
    hint: 'Check the clock of this machine first, then the certificate.',
  },
  CERT_REVOKED: { says: 'The certificate was revoked.', hint: 'Renew it at the upstream.' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    says: 'The certificate is for another name.',
    hint: 'TLS asks for the Host that is sent: check the endpoint, upstream.signedHost and upstream.tls.serverName.',
  },
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: {
    says: 'The upstream asks for a client certificate.',
    hint: 'Give the gateway one: upstream.tls.clientCertificate.',
  },
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: {
    says: 'The upstream does not trust the client certificate it was shown.',
    hint: 'Check upstream.tls.clientCertificate: it must be of an authority the upstream knows.',
  },
};

/** Words for an error of DNS, a socket, TLS or the HTTP parser; an unknown one is named by its code. */
export function troubleOf(error: unknown): Trouble & { readonly code: string } {
  const cause = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = String((cause as { code?: unknown } | null)?.code ?? 'unknown');
  const known = WORDS[code];
  if (known !== undefined) return { ...known, code };
  if (code.startsWith('HPE_')) {
    const hint = 'The port may speak TLS (https://), HTTP/2 only, or another protocol altogether.';
    return { code, says: `The answer is no HTTP/1.1 (${code}).`, hint };
  }
  return { code, says: `The connection failed (${code}).` };
}
