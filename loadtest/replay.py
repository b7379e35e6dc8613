"""What ideal hardware would do with the same arrivals: a simulation of weir's admission rule with the measured t(rows), one
device, no network, no other work. Times in milliseconds.

The rule (engine/batch/batcher.c, engine/batch/forecast.c): one queue in order of arrival. A request is refused when no slot
is free for its priority, when the forecast of its end times 1.2 does not fit its deadline, or when the forecast of its wait
exceeds its priority's share of the delay target of three full batches. A job that a batch could only finish too late is
dropped when the batch is formed. The device takes what is there, at most `largest` rows.
"""

import collections
import math

SLACK, TARGET_BATCHES, RATE_WINDOW_MS = 1.2, 3, 50.0
TARGET_SHARE = {"high": 1.5, "normal": 1.0, "low": 0.5}
HIGH_SEEN_MS = 1000.0

Arrival = collections.namedtuple("Arrival", "at_ms deadline_ms priority name")


class Replay:
    def __init__(self, base_ms, row_ms, largest=32, slots=64, margin_ms=0.0):
        self.base_ms, self.row_ms, self.largest, self.slots, self.margin_ms = base_ms, row_ms, largest, slots, margin_ms
        self.queue = collections.deque()
        self.free_ms, self.running = 0.0, []
        self.high_seen_ms, self.rate, self.rate_ms, self.short_ms = -math.inf, 0.0, 0.0, 0.0
        self.good, self.refused, self.late = (collections.Counter() for _ in range(3))

    def cost(self, rows):
        return self.base_ms + self.row_ms * rows

    def batch_rows(self):
        """Short deadlines make batches smaller, but not so small that the fixed cost of a batch dominates."""
        limit_ms = max(self.short_ms / 3, 2 * self.cost(1))
        return max(1, min(self.largest, int((limit_ms - self.base_ms) / self.row_ms)))

    def note_arrival(self, arrival):
        passed = (arrival.at_ms - self.rate_ms) / RATE_WINDOW_MS
        self.rate, self.rate_ms = self.rate * math.exp(-passed) + 1 / RATE_WINDOW_MS, arrival.at_ms
        if self.short_ms == 0:
            self.short_ms = arrival.deadline_ms
        else:
            step = 0.1 if arrival.deadline_ms < self.short_ms else 0.01
            self.short_ms += step * (arrival.deadline_ms - self.short_ms)

    def spared(self, arrival):
        if arrival.priority == "high":
            self.high_seen_ms = arrival.at_ms
            return 0
        if arrival.priority == "low":
            return self.slots // 2
        return self.slots // 8 if arrival.at_ms - self.high_seen_ms < HIGH_SEEN_MS else 0

    def admits(self, arrival):
        now_ms, rows = arrival.at_ms, self.batch_rows()
        if len(self.queue) + len(self.running) >= self.slots - self.spared(arrival):
            return False
        free_ms = max(self.free_ms, now_ms) + len(self.queue) // rows * self.cost(rows)
        filled = len(self.queue) % rows + 1 + self.rate * (free_ms - now_ms)
        done_ms = free_ms + self.cost(min(filled, rows))
        if (done_ms - now_ms) * SLACK > arrival.deadline_ms - self.margin_ms:
            return False
        return free_ms - now_ms <= TARGET_BATCHES * self.cost(rows) * TARGET_SHARE[arrival.priority]

    def take_batch(self, now_ms):
        rows = self.batch_rows()
        end_ms = now_ms + self.cost(min(rows, len(self.queue)))
        self.running = []
        while self.queue and len(self.running) < rows:
            arrival = self.queue.popleft()
            if arrival.at_ms + arrival.deadline_ms - self.margin_ms <= end_ms:
                self.late[arrival.name] += 1
            else:
                self.running.append(arrival)
        self.free_ms = now_ms + self.cost(len(self.running)) if self.running else now_ms

    def end_batch(self):
        for arrival in self.running:
            in_time = self.free_ms <= arrival.at_ms + arrival.deadline_ms
            (self.good if in_time else self.late)[arrival.name] += 1
        self.running = []

    def advance(self, now_ms):
        """Runs everything that ends before now_ms."""
        while self.running and self.free_ms <= now_ms:
            self.end_batch()
            while self.queue and not self.running:
                self.take_batch(self.free_ms)

    def run(self, arrivals):
        """Returns {name: good answers}."""
        for arrival in arrivals:
            self.advance(arrival.at_ms)
            self.note_arrival(arrival)
            if not self.admits(arrival):
                self.refused[arrival.name] += 1
                continue
            self.queue.append(arrival)
            if not self.running:
                self.take_batch(arrival.at_ms)
        self.advance(math.inf)
        return self.good
