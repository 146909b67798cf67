import { expect, it } from 'vitest';
import { everything, Feed, PAGE } from './feed.svelte';
import { Log, turns } from './log';

const open = async (log: Log) => {
  const feed = new Feed(log.send);
  feed.filter(everything);
  await turns();
  return feed;
};
const numbers = (feed: Feed, from: number, to: number) => Array.from({ length: to - from }, (_, index) => feed.row(from + index)?.number);
const count = (from: number, to: number) => Array.from({ length: from - to }, (_, index) => from - index);

it('opens with the newest, and fetches what is looked at', async () => {
  const feed = await open(new Log(100_000));
  expect([feed.count, feed.opening, feed.row(0)?.number]).toEqual([100_000, false, 100_000]);
  expect(feed.row(70_000)).toBeUndefined();

  feed.look({ from: 70_000, to: 70_030 });
  await turns();

  expect(numbers(feed, 70_000, 70_030)).toEqual(count(30_000, 29_970));
});

it('follows the newest', async () => {
  const log = new Log(10);
  const feed = await open(log);
  log.add(3);
  feed.refresh();
  await turns();

  expect([feed.count, feed.fresh, feed.row(0)?.number]).toEqual([13, 0, 13]);
});

it('keeps still for somebody who reads, counts what is new, and takes it in afterwards', async () => {
  const log = new Log(1_000);
  const feed = await open(log);
  feed.look({ from: 500, to: 520 });
  await turns();
  feed.follow(false);
  log.add(12);
  feed.refresh();
  await turns();
  expect([feed.count, feed.fresh, feed.total]).toEqual([1_000, 12, 1_012]);
  expect(numbers(feed, 500, 520)).toEqual(count(500, 480));

  feed.look({ from: 800, to: 820 });
  await turns();
  expect(numbers(feed, 800, 820)).toEqual(count(200, 180));

  feed.follow(true);
  await turns();
  expect([feed.count, feed.fresh, feed.row(0)?.number]).toEqual([1_012, 0, 1_012]);
});

it('puts rows where they belong although acts came while the answer was under way', async () => {
  const log = new Log(1_000);
  const feed = await open(log);
  feed.follow(false);
  log.holding = true;
  feed.look({ from: 600, to: 630 });
  await turns();
  log.add(50);
  await log.release();

  expect(feed.count).toBe(1_000);
  expect(numbers(feed, 600, 630)).toEqual(count(400, 370));
});

it('asks again when so many acts came that the answer missed what is looked at', async () => {
  const log = new Log(1_000);
  const feed = await open(log);
  feed.follow(false);
  log.holding = true;
  feed.look({ from: 600, to: 630 });
  await turns();
  log.add(5 * PAGE);
  log.holding = false;
  await log.release();
  await turns();

  expect(numbers(feed, 600, 630)).toEqual(count(400, 370));
});

it('drops answers to an older filter', async () => {
  const log = new Log(100);
  const feed = await open(log);
  log.holding = true;
  feed.filter({ ...everything, text: 'note 1' });
  feed.filter({ ...everything, text: 'note 77' });
  await turns();
  const [old, young] = log.held;
  young?.();
  await turns();
  expect([feed.count, feed.row(0)?.number]).toEqual([1, 77]);

  old?.();
  await turns();
  expect([feed.count, feed.row(0)?.number]).toEqual([1, 77]);
});

it('has one request for news and one for a page under way at most, however often it is told', async () => {
  const log = new Log(10_000);
  const feed = await open(log);
  log.holding = true;
  for (let at = 0; at < 200; at += 1) {
    log.add(1);
    feed.refresh();
    feed.look({ from: at * 40, to: at * 40 + 20 });
  }
  await turns();
  expect(log.held).toHaveLength(2);

  for (let round = 0; round < 10; round += 1) await log.release();
  expect(log.most).toBe(2);
  expect(feed.row(199 * 40)?.number).toBe(feed.count - 199 * 40);
});

it('keeps only what is near, so that memory stays flat over a long scroll', async () => {
  const log = new Log(50_000);
  const feed = await open(log);
  for (let from = 0; from < 50_000; from += 150) {
    feed.look({ from, to: from + 30 });
    await turns();
  }

  const here = Array.from({ length: 50_000 }, (_, index) => feed.row(index)).filter((row) => row !== undefined).length;
  expect(here).toBeLessThanOrEqual(2_000);
  expect(feed.row(49_950)?.number).toBe(50);
});

it('never asks for more than the engine gives', async () => {
  const log = new Log(5_000);
  const feed = await open(log);
  feed.look({ from: 0, to: 4_000 });
  await turns();

  expect(log.asked.every(({ limit }) => limit >= 1 && limit <= 500)).toBe(true);
});

it('begins anew when old files were removed', async () => {
  const log = new Log(1_000);
  const feed = await open(log);
  feed.follow(false);
  log.rows.splice(0, 900);
  feed.refresh();
  await turns();
  feed.look({ from: 0, to: 20 });
  await turns();

  expect([feed.count, feed.fresh]).toEqual([100, 0]);
  expect(numbers(feed, 0, 20)).toEqual(count(1_000, 980));
});

it('shows a fault, keeps what it has, and goes on when it is over', async () => {
  const log = new Log(500);
  const feed = await open(log);
  log.failing = true;
  feed.look({ from: 300, to: 320 });
  await turns();
  expect([feed.fault?.code, feed.row(0)?.number, feed.row(300)]).toEqual(['audit_unavailable', 500, undefined]);
  const asked = log.asked.length;
  await turns();
  expect(log.asked.length).toBe(asked);

  log.failing = false;
  feed.refresh();
  await turns();
  expect([feed.fault, feed.row(300)?.number]).toEqual([null, 200]);
});
