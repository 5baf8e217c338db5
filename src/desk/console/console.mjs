// SPDX-License-Identifier: Apache-2.0
// What pages do without this module they do all the same: it says times in the reader's zone, and looks whether something new waits.
const zone = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
for (const time of document.querySelectorAll('time[datetime]')) {
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.getTime()) || new Date().getTimezoneOffset() === 0) continue;
  const local = document.createElement('small');
  local.className = 'local';
  local.textContent = zone.format(moment);
  time.after(' ', local);
}

const live = document.querySelector('[data-live]');
if (live) {
  const url = live.dataset.live;
  let seen = null;
  const look = async () => {
    if (document.hidden) return;
    const answer = await fetch(url, {redirect: 'error'}).catch(() => null);
    if (!answer?.ok) return;
    const text = await answer.text();
    if (seen !== null && text !== seen) location.reload();
    seen = text;
  };
  look();
  setInterval(look, 5000);
  document.addEventListener('visibilitychange', look);
}
