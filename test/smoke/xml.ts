/** An element of a parsed document; `text` is its own character data. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const CHARACTERS = /^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;
const TOKEN = /<\?xml [^?]*\?>|<\/([\w.-]+)\s*>|<([\w.-]+)((?:\s+[\w.:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy;

/** Reads the XML that a report may consist of (elements, attributes, text) and throws for all that is not well-formed. */
export function parseXml(source: string): Element {
  if (!CHARACTERS.test(source)) throw new Error('a character that XML does not have');
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open: Element[] = [root];
  TOKEN.lastIndex = 0;
  let end = 0;
  for (let match = TOKEN.exec(source); match !== null; match = TOKEN.exec(source)) {
    end = TOKEN.lastIndex;
    const [, closed, opened, attributes = '', isEmpty, text] = match;
    const current = open.at(-1) as Element;
    if (closed !== undefined) {
      if (open.length < 2 || open.pop()?.name !== closed) throw new Error(`</${closed}> closes nothing`);
    } else if (opened !== undefined) {
      const element: Element = { name: opened, attributes: attributesOf(attributes), children: [], text: '' };
      current.children.push(element);
      if (isEmpty === '') open.push(element);
    } else if (text !== undefined) {
      if (text.includes(']]>')) throw new Error(']]> in text');
      current.text += decoded(text);
    }
  }
  if (end !== source.length) throw new Error(`no XML at ${end}: ${source.slice(end, end + 40)}`);
  const [document] = root.children;
  if (document === undefined || root.children.length > 1 || open.length > 1) throw new Error('not one closed element');
  return document;
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/([\w.:-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new Error(`the attribute ${name} is there twice`);
    attributes[name] = decoded(value.replace(/[\t\n\r]/g, ' '));
  }
  return attributes;
}

function decoded(text: string): string {
  return text.replace(/&([^;]*;?)/g, (whole, reference: string) => {
    const name = reference.slice(0, -1);
    const character = name.startsWith('#') ? String.fromCodePoint(Number(name.slice(1))) : ENTITIES[name];
    if (!reference.endsWith(';') || character === undefined) throw new Error(`no entity: ${whole}`);
    return character;
  });
}
