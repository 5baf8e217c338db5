// SPDX-License-Identifier: Apache-2.0
// 10.1, 10.2: how servers on Node find a file by a text, for tests/oracle/spellings: a list of texts comes, and of each a list of all places
// goes back to which that leads, with what was read there. A reader that refuses the text opens nothing.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const decode = decodeURIComponent;
const readers = [
  (text) => text, (text) => text.trim(), (text) => decode(text).trim(), path.resolve, path.normalize, decode, (text) => path.resolve(decode(text)), (text) => decode(path.resolve(text)),
  (text) => path.resolve(decode(path.resolve(text))), (text) => decode(decode(text)), (text) => path.resolve(decode(decode(text))), unescape,
  (text) => new URL(text, 'file:///').pathname, (text) => decode(new URL(text, 'file:///').pathname), (text) => fileURLToPath(new URL(text, 'file:///')),
  (text) => decode(new URL(text, 'http://h/').pathname), (text) => path.resolve(decode(new URL(text, 'http://h/').pathname)),
  (text) => text.replace(/^file:\/\//, ''), (text) => decode(text.replace(/^file:\/\//i, '')), (text) => path.resolve(decode(text).replace(/^file:\/\//i, '')),
  (text) => path.join('/', new URL(text).pathname),
];

function places(text) {
  const found = new Set();
  for (const read of readers) {
    try {
      const file = read(text);
      if (file.startsWith('/')) found.add(path.resolve(file));
      found.add(fs.readFileSync(file, 'utf8'));
    } catch { /* nothing is opened */ }
  }
  return [...found];
}

process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(places)));
