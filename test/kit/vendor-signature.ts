import { createRequire } from 'node:module';

/*
 * The signatures of somebody else: `backend.ai-client`, published by the vendor of a Service of this protocol. Its brand,
 * X-BackendAI-, is the only one it knows.
 */

/** What a signature covers, each part in the form in which it is signed. */
export interface Covered {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly contentType: string;
  readonly version: string;
  /** Whose day the key is derived for. */
  readonly date: Date;
  readonly dateLine: string;
  /** The bytes to hash. */
  readonly body: Buffer;
}

export interface KeyPairText {
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface VendorClient {
  getAuthenticationString(method: string, uri: string, date: string, body: Buffer, contentType: string): string;
  /** Bytes, one to a character. */
  getSignKey(secretKey: string, date: Date): string;
  sign(key: string, keyEncoding: 'binary', message: string, digest: 'hex'): string;
  newSignedRequest(method: string, uri: string, body: null): { readonly headers: Headers };
}

interface VendorConfig {
  _apiVersion: string;
}

const vendor = createRequire(import.meta.url)('backend.ai-client/backend.ai-client-node.js') as {
  ClientConfig: new (accessKey: string, secretKey: string, endpoint: string) => VendorConfig;
  Client: new (config: VendorConfig) => VendorClient;
};

/** The vendor's client, as its user configures it. */
export function vendorClient({ accessKey, secretKey }: KeyPairText, host: string, version: string): VendorClient {
  const config = new vendor.ClientConfig(accessKey, secretKey, `https://${host}`);
  config._apiVersion = version;
  return new vendor.Client(config);
}

/** The vendor's string to sign. It leaves the method's case to its user. */
export function vendorStringToSign(client: VendorClient, covered: Covered): string {
  const { method, target, dateLine, body, contentType } = covered;
  return client.getAuthenticationString(method.toUpperCase(), target, dateLine, body, contentType);
}

/** The signature that the vendor's client gives the request: 64 hex digits. */
export function vendorSignature(keypair: KeyPairText, covered: Covered): string {
  const client = vendorClient(keypair, covered.host, covered.version);
  const key = client.getSignKey(keypair.secretKey, covered.date);
  return client.sign(key, 'binary', vendorStringToSign(client, covered), 'hex');
}

/** The whole header: the vendor's client writes one for a request of its own, and this signature takes that one's place. */
export function vendorAuthorization(keypair: KeyPairText, covered: Covered): string {
  const { headers } = vendorClient(keypair, covered.host, covered.version).newSignedRequest('GET', '/', null);
  return (headers.get('Authorization') ?? '').replace(/[0-9a-f]{64}$/, vendorSignature(keypair, covered));
}
