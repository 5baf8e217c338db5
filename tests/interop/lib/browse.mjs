// SPDX-License-Identifier: Apache-2.0
// 13.1: people before the console, in Chromium: with a mouse, by keyboard alone, without JavaScript, on a phone, in the dark. Prints a line for
// each promise and what it has done as JSON last; ends with 1 where one does not hold. A violation of a page's policy fails, wherever it comes.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';

const given = JSON.parse(process.argv[2]);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 120000; // ms: a busy machine's browser takes longer than what is usual
const browser = await chromium.launch({executablePath: given.chromium, args: process.getuid() === 0 ? ['--no-sandbox'] : [], timeout: PATIENCE});
const violations = [];

function check(holds, text) {
  if (!holds) throw new Error(text);
  console.log('ok:', text);
}

async function tab(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on('console', said => /Content Security Policy|violates/.test(said.text()) && violations.push(said.text()));
  page.on('pageerror', fault => violations.push(fault.message));
  page.on('dialog', dialog => { violations.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  return page;
}

async function person(key, options = {}) {
  const page = await tab({viewport: {width: 1280, height: 800}, ...options});
  await page.goto(new URL('/login', given.url).href);
  await page.getByLabel('Your key').fill(key);
  await page.getByRole('button', {name: 'Log in'}).click();
  await page.getByRole('button', {name: 'Log out'}).waitFor();
  return page;
}

async function open(page, where) {
  await page.goto(new URL(where, given.url).href);
  await is_there(page);
}

// What takes long comes again by itself, each time under this heading, until it is there.
async function is_there(page) {
  const waits = page.getByRole('heading', {name: 'Under way'});
  do {
    await waits.waitFor({state: 'detached'});
    await page.waitForLoadState();
  } while (await waits.count() > 0);
}

// ---- each page, at each size, light and dark ----

async function looks_right(page, name) {
  const found = await page.evaluate(`${axe}; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})`);
  check(found.violations.length === 0, `${name}: axe finds nothing${found.violations.map(one => `: ${one.id} ${one.nodes[0].html}`).join()}`);
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(wide <= seen, `${name}: nothing stands out of the window: ${wide} of ${seen}`);
}

async function every_page() {
  const sizes = {phone: [390, 844, 'light', 'dark'], desk: [1280, 800, 'light', 'dark'], small: [360, 640, 'light'], wide: [3840, 2160, 'dark']};
  for (const [size, [width, height, ...schemes]] of Object.entries(sizes))
    for (const colorScheme of schemes) {
      const page = await person(given.keys.both, {viewport: {width, height}, colorScheme, timezoneId: 'Europe/Berlin'});
      for (const [name, where] of Object.entries(given.pages)) {
        await open(page, where);
        await page.evaluate(() => document.querySelectorAll('details').forEach(one => { one.open = true; }));
        await looks_right(page, `${name}, ${size}, ${colorScheme}`);
        await page.screenshot({path: path.join(given.shots, `${name}-${size}-${colorScheme}.png`), fullPage: true});
      }
      await page.context().close();
    }
  for (const [name, where] of Object.entries(given.shown)) { // what README shows
    const page = await person(given.keys.both, {viewport: {width: 1080, height: 720}, timezoneId: 'UTC'});
    await open(page, where);
    await page.screenshot({path: path.join(given.shots, `${name}.png`)});
    await page.context().close();
  }
  if (!given.pages.call) return;
  const page = await person(given.keys.both, {timezoneId: 'Europe/Berlin', locale: 'de-DE'});
  await open(page, given.pages.call);
  const [utc, local] = await page.evaluate(() => [document.querySelector('time').dateTime, document.querySelector('.local').textContent]);
  const hour = new Intl.DateTimeFormat('de-DE', {hour: '2-digit', minute: '2-digit', timeZone: 'Europe/Berlin'}).format(new Date(utc));
  check(local.includes(hour), `a time stands in the reader's zone beside UTC: ${utc} ${local}`);
  await page.context().close();
}

// ---- what people come for ----

async function by_keyboard() {
  const page = await person(given.keys.both);
  const reach = async name => {
    for (let i = 0; i < 120; i++) {
      const focused = await page.evaluate(() => {
        const one = document.activeElement;
        const label = one.id && document.querySelector(`label[for="${one.id}"]`);
        return ((label && label.textContent) || one.textContent || '').trim();
      });
      if (focused === name) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`the keyboard does not reach ${name}`);
  };
  await open(page, '/calls');
  await page.keyboard.press('Tab');
  check(await page.evaluate(() => document.activeElement.className) === 'skip', 'the first key leads past what every page has');
  await reach('Verdict');
  await page.keyboard.type('deny');
  await reach('Search');
  await page.keyboard.press('Enter');
  await page.waitForURL(/verdict=deny/);
  await is_there(page);
  await reach(String(given.denied));
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`/calls/${given.denied}$`));
  await is_there(page);
  check((await page.locator('.lead').textContent()).includes('5000 of `limit` does not fit max 100'), 'by keyboard: the denied call is found, and why');
  await reach('Proof of this row');
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
  await download.saveAs(path.join(given.shots, 'row.proof'));
  check(fs.readFileSync(path.join(given.shots, 'row.proof'), 'utf8').startsWith('c2sp.org/tlog-proof'), 'by keyboard: its proof is taken along');
  await open(page, `/approvals/${given.keyboard}`);
  await reach('Why');
  await page.keyboard.type('by keyboard');
  await reach('Approve once');
  await page.keyboard.press('Enter');
  await page.locator('h1 + .lead .badge.approved').waitFor();
  check(true, 'by keyboard: a held call is approved');
  await open(page, '/policies');
  await reach('Compare version');
  await page.keyboard.type('1');
  await reach('with version');
  await page.keyboard.type('2');
  await reach('Compare');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: 'From version 1 to version 2'}).waitFor();
  check((await page.locator('main').textContent()).includes('shop.search'), 'by keyboard: two versions are compared');
  await open(page, '/tools');
  await reach('search_products');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: 'What changed'}).waitFor();
  check((await page.locator('main').textContent()).includes('\\u200b'), 'what is hidden in a tool is drawn');
  await reach('Why');
  await page.keyboard.type('read with Ada');
  await reach('Accept');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/tools$/);
  check(true, 'by keyboard: a changed tool is accepted');
  await page.context().close();
}

// From a notification's link, by somebody who is not logged in, on a phone.
async function approves() {
  const page = await tab({viewport: {width: 390, height: 844}, isMobile: true, hasTouch: true});
  await open(page, `/approvals/${given.approval}`);
  await page.getByLabel('Your key').fill(given.keys.ann);
  await page.getByRole('button', {name: 'Log in'}).tap();
  await page.getByRole('heading', {name: 'What would be done'}).waitFor();
  check(page.url().endsWith(`/approvals/${given.approval}`), 'the link leads to the call once one has logged in');
  check((await page.locator('.args').textContent()).includes('ACME Ltd'), 'which shows its arguments');
  await page.getByRole('button', {name: 'Approve once'}).tap();
  check(await page.evaluate(() => !document.querySelector('#why').checkValidity()), 'nobody approves without a reason');
  await page.getByLabel('Why', {exact: true}).fill('Ada expects the invoice');
  await page.getByLabel('For how long').fill('2h');
  await page.getByRole('button', {name: 'Approve once'}).tap();
  await page.locator('.badge.approved').first().waitFor();
  check(true, 'on a phone: a held call is approved');
  await page.context().close();
}

async function without_script() {
  const page = await person(given.keys.ann, {javaScriptEnabled: false});
  await open(page, '/approvals');
  await page.locator(`a[href="/approvals/${given.plain}"]`).click();
  await page.getByLabel('Why', {exact: true}).fill('no such order');
  await page.getByRole('button', {name: 'Refuse'}).click();
  await page.locator('h1 + .lead .badge.refused').waitFor();
  check(true, 'without JavaScript: a held call is read and refused');
  await page.context().close();
}

async function looks_on() {
  const page = await person(given.keys.ann);
  await open(page, '/approvals');
  await page.waitForTimeout(1000);
  console.log('hold');
  await page.getByText('comes meanwhile').waitFor();
  check(true, 'what comes while one looks appears by itself');
  await page.context().close();
}

try {
  for (const task of given.looks_only ? [every_page] : [every_page, by_keyboard, approves, without_script, looks_on])
    await task();
  check(violations.length === 0, `no page's policy was violated, and no script of others ran${violations.map(one => `: ${one}`).join()}`);
} catch (fault) {
  console.log('FAILED:', fault.message, violations);
  process.exitCode = 1;
} finally {
  await browser.close();
}
