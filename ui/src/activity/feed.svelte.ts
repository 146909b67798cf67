/**
 * The rows of the Activity page. It asks the engine for the part that is looked at and keeps a few pages around it.
 *
 * Rows are kept by their distance from the *oldest* one that fits the filter. That place never changes when new acts come, so
 * an answer that was under way meanwhile still puts every row where it belongs, and what is being read stays where it is.
 */
import type { ActivityFilter, ActivityRow, Command, CommandError, Reply } from '../generated/types';
import { asError } from '../lib/bridge';
import type { Slice } from './window';

/** Rows of one request. */
export const PAGE = 200;
/** Rows kept at most. Those farthest from what is looked at go first. */
const KEPT = 2_000;

export const everything: ActivityFilter = { session_id: null, power: null, outcome: null, text: null };

export class Feed {
  /** Rows that fit the filter, as far as the list shows them. */
  count = $state(0);
  /** Acts that came since, not in the list yet. */
  fresh = $state(0);
  /** Lines of the log that are no records. */
  unreadable = $state(0);
  /** No answer yet for this filter. */
  opening = $state(true);
  fault = $state<CommandError | null>(null);

  #send: (command: Command) => Promise<Reply>;
  #filter = everything;
  #rows = new Map<number, ActivityRow>();
  /** Rises when rows came, so that what is shown is looked up again. */
  #changed = $state(0);
  /** Answers to an older filter are dropped. */
  #epoch = 0;
  #headBusy = false;
  #headWanted = false;
  #pageBusy = false;
  #wanted: Slice = { from: 0, to: 0 };
  /** Following the newest, or keeping still for somebody who reads. */
  #following = true;

  constructor(send: (command: Command) => Promise<Reply>) {
    this.#send = send;
  }

  get total(): number {
    return this.count + this.fresh;
  }

  /** Returns the row at a place in the list, 0 being the newest shown; nothing when it is not here yet. */
  row(index: number): ActivityRow | undefined {
    void this.#changed;
    return this.#rows.get(this.count - 1 - index);
  }

  /** Changes the filter. What was asked for before is not waited for. */
  filter(filter: ActivityFilter): void {
    this.#filter = filter;
    this.#epoch += 1;
    this.#rows.clear();
    this.#headBusy = false;
    this.#pageBusy = false;
    this.#headWanted = false;
    this.#wanted = { from: 0, to: 0 };
    this.#following = true;
    this.count = 0;
    this.fresh = 0;
    this.opening = true;
    this.refresh();
  }

  /** Follows the newest, or keeps the list still. */
  follow(following: boolean): void {
    if (this.#following === following) return;
    this.#following = following;
    if (following) this.refresh();
  }

  /** Asks what is new. While an answer is under way this is remembered and asked once more after it. */
  refresh(): void {
    if (this.#headBusy) {
      this.#headWanted = true;
      return;
    }
    this.#headBusy = true;
    void this.#ask(0, this.#following ? PAGE / 2 : 1, () => {
      this.#headBusy = false;
      this.#fetch();
      if (this.#headWanted) {
        this.#headWanted = false;
        this.refresh();
      }
    });
  }

  /** Tells which rows are looked at, so that those are fetched. */
  look(wanted: Slice): void {
    this.#wanted = wanted;
    this.#fetch();
  }

  #fetch(): void {
    if (this.#pageBusy || this.opening || this.fault) return;
    let first = this.#wanted.from;
    const to = Math.min(this.#wanted.to, this.count);
    while (first < to && this.#rows.has(this.count - 1 - first)) first += 1;
    if (first >= to) return;
    this.#pageBusy = true;
    const place = this.count - 1 - first;
    const before = this.total;
    // Newer acts may come before the answer and push everything down: the page reaches further than what is looked at.
    void this.#ask(first + this.fresh, PAGE, () => {
      this.#pageBusy = false;
      // A row that does not come although nothing moved will not come by asking again.
      if (this.#rows.has(place) || this.total !== before) this.#fetch();
    });
  }

  async #ask(skip: number, limit: number, then: () => void): Promise<void> {
    const epoch = this.#epoch;
    try {
      const reply = await this.#send({ command: 'activity_page', filter: this.#filter, skip, limit });
      if (epoch !== this.#epoch) return;
      this.fault = null;
      if (reply.reply === 'activity') this.#take(reply, skip);
    } catch (thrown) {
      if (epoch !== this.#epoch) return;
      this.fault = asError(thrown);
    }
    this.opening = false;
    then();
  }

  #take({ rows, total, unreadable }: Extract<Reply, { reply: 'activity' }>, skip: number): void {
    // Old files were removed: every place is another one now.
    if (total < this.count) this.#rows.clear();
    rows.forEach((row, index) => this.#rows.set(total - 1 - skip - index, row));
    if (this.#following || total < this.count) this.count = total;
    this.fresh = Math.max(0, total - this.count);
    this.unreadable = unreadable;
    this.#forget();
    this.#changed += 1;
  }

  /** Drops the rows farthest from what is looked at. */
  #forget(): void {
    if (this.#rows.size <= KEPT) return;
    const middle = this.count - 1 - (this.#wanted.from + this.#wanted.to) / 2;
    const far = [...this.#rows.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const place of far.slice(0, this.#rows.size - KEPT)) this.#rows.delete(place);
  }
}
