"""What packages do step by step: alignments, prices, graphs, trees and queues."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real


# ---- alignments and dynamic programmes -------------------------------------------------------------------------------
@njit
def affine_gaps(scores, opening, extension):
    """The best alignment of two sequences whose gaps cost most where they begin: three tables."""
    n, m = scores.shape
    low = -1e30
    match, gap_a, gap_b = np.full((n + 1, m + 1), low), np.full((n + 1, m + 1), low), np.full((n + 1, m + 1), low)
    match[0, 0] = 0.0
    for i in range(1, n + 1):
        gap_a[i, 0] = -opening - (i - 1) * extension
    for j in range(1, m + 1):
        gap_b[0, j] = -opening - (j - 1) * extension
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = max(match[i - 1, j - 1], gap_a[i - 1, j - 1], gap_b[i - 1, j - 1])
            match[i, j] = scores[i - 1, j - 1] + before
            gap_a[i, j] = max(match[i - 1, j] - opening, gap_a[i - 1, j] - extension)
            gap_b[i, j] = max(match[i, j - 1] - opening, gap_b[i, j - 1] - extension)
    return max(match[n, m], gap_a[n, m], gap_b[n, m])


@njit
def local_alignment(letters, others, reward, gap):
    """Smith and Waterman's score in two rows, which change places."""
    before, now = np.zeros(others.size + 1), np.zeros(others.size + 1)
    best = 0.0
    for i in range(letters.size):
        for j in range(others.size):
            same = reward[letters[i], others[j]]
            now[j + 1] = max(0.0, before[j] + same, before[j + 1] - gap, now[j] - gap)
            best = max(best, now[j + 1])
        before, now = now, before
    return best


@njit
def best_states(start, transition, emission, seen):
    """Viterbi's path: the score, by the way back, and a penalty for each change of state."""
    n, k = seen.size, start.size
    score = np.empty((n, k))
    back = np.zeros((n, k), np.int64)
    for j in range(k):
        score[0, j] = start[j] + emission[j, seen[0]]
    for t in range(1, n):
        for j in range(k):
            best, where = -1e300, 0
            for i in range(k):
                s = score[t - 1, i] + transition[i, j]
                if s > best:
                    best, where = s, i
            score[t, j] = best + emission[j, seen[t]]
            back[t, j] = where
    state = int(np.argmax(score[n - 1]))
    total = score[n - 1, state]
    for t in range(n - 1, 0, -1):
        if back[t, state] != state:
            total -= 0.5 * transition[back[t, state], state] ** 2
        state = back[t, state]
    return total


@njit
def connectionist_loss(logits, labels):
    """CTC: all ways of writing labels with blanks between them, in logarithms."""
    steps, classes = logits.shape
    size = 2 * labels.size + 1
    alpha, new = np.full(size, -1e30), np.full(size, -1e30)
    loss = 0.0
    for t in range(steps):
        most = logits[t, 0]
        for c in range(1, classes):
            most = max(most, logits[t, c])
        norm = 0.0
        for c in range(classes):
            norm += math.exp(logits[t, c] - most)
        norm = most + math.log(norm)
        for s in range(size):
            c = labels[s // 2] if s % 2 else 0
            if t == 0:
                new[s] = logits[0, c] - norm if s < 2 else -1e30
                continue
            a = alpha[s]
            b = alpha[s - 1] if s > 0 else -1e30
            d = alpha[s - 2] if s > 1 and s % 2 and labels[s // 2] != labels[s // 2 - 1] else -1e30
            high = max(a, b, d)
            new[s] = high + math.log(math.exp(a - high) + math.exp(b - high) + math.exp(d - high)) + logits[t, c] - norm
        for s in range(size):
            alpha[s] = new[s]
    high = max(alpha[size - 1], alpha[size - 2])
    loss -= high + math.log(math.exp(alpha[size - 1] - high) + math.exp(alpha[size - 2] - high))
    return loss


@njit
def seam(energy, weight):
    """The cheapest way from the top of a picture to its foot."""
    n, m = energy.shape
    cost = energy.copy()
    for i in range(1, n):
        for j in range(m):
            least = cost[i - 1, j]
            if j > 0 and cost[i - 1, j - 1] + weight < least:
                least = cost[i - 1, j - 1] + weight
            if j < m - 1 and cost[i - 1, j + 1] + weight < least:
                least = cost[i - 1, j + 1] + weight
            cost[i, j] += least
    return np.min(cost[n - 1])


# ---- prices ----------------------------------------------------------------------------------------------------------
@njit
def callable_bond(r0, speed, volatility, coupon, call, steps):
    """A trinomial tree of rates that return to their mean: what the bond is worth if it may be called."""
    dt = 1.0 / steps
    dx = volatility * math.sqrt(3.0 * dt)
    width = 2 * steps + 1
    value, new = np.full(width, 1.0), np.zeros(width)
    for t in range(steps - 1, -1, -1):
        for j in range(-t, t + 1):
            pull = speed * j * dt
            up = 1.0 / 6.0 + 0.5 * (pull * pull - pull)
            middle, down = 2.0 / 3.0 - pull * pull, 1.0 / 6.0 + 0.5 * (pull * pull + pull)
            k = j + steps
            expected = up * value[k + 1] + middle * value[k] + down * value[k - 1]
            held = math.exp(-(r0 + j * dx) * dt) * (expected + coupon * dt)
            new[k] = min(held, call)
        value, new = new, value
    return value[steps]


@njit
def asian_paths(spot, volatility, rate, draws):
    """The mean of paths, some of which are knocked out on their way."""
    paths, steps = draws.shape
    dt = 1.0 / steps
    total = 0.0
    for p in range(paths):
        x, mean, alive = math.log(spot), 0.0, True
        for t in range(steps):
            x += (rate - 0.5 * volatility**2) * dt + volatility * math.sqrt(dt) * draws[p, t]
            s = math.exp(x)
            if s > 1.6 * spot:
                alive = False
                break
            mean += s / steps
        if alive:
            total += max(mean - spot, 0.0)
    return math.exp(-rate) * total / paths


@njit
def implied(price, spot, strike):
    low, high = 1e-3, 4.0
    sigma = 0.5
    for _ in range(40):
        d1 = (math.log(spot / strike) + 0.5 * sigma * sigma) / sigma
        value = spot * 0.5 * math.erfc(-d1 / math.sqrt(2.0)) - strike * 0.5 * math.erfc(-(d1 - sigma) / math.sqrt(2.0))
        if abs(value - price) < 1e-14:
            return sigma
        if value > price:
            high = sigma
        else:
            low = sigma
        slope = spot * math.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
        sigma -= (value - price) / slope
        if sigma <= low or sigma >= high:
            sigma = 0.5 * (low + high)
    return sigma


@njit
def smile(prices, spot, strikes):
    """Implied volatilities by safeguarded Newton's steps, and how rough they are."""
    total, before = 0.0, 0.0
    for k in range(strikes.size):
        sigma = implied(prices[k], spot, strikes[k])
        if k > 0:
            total += (sigma - before) ** 2
        before = sigma
    return total + before


@njit
def curve(rates, maturities, payments):
    """A curve of discounts from par rates, one after the other; the value of payments between its knots."""
    n = rates.size
    discounts = np.empty(n + 1)
    discounts[0] = 1.0
    annuity = 0.0
    for k in range(n):
        tau = maturities[k + 1] - maturities[k]
        discounts[k + 1] = (1.0 - rates[k] * annuity) / (1.0 + rates[k] * tau)
        annuity += tau * discounts[k + 1]
    value = 0.0
    for p in range(payments.shape[0]):
        t = payments[p, 0]
        k = 0
        while k < n - 1 and maturities[k + 1] < t:
            k += 1
        w = (t - maturities[k]) / (maturities[k + 1] - maturities[k])
        value += payments[p, 1] * math.exp((1.0 - w) * math.log(discounts[k]) + w * math.log(discounts[k + 1]))
    return value


# ---- graphs, trees and queues ----------------------------------------------------------------------------------------
@njit
def shortest_ways(weights, heads, tails, nodes):
    """Bellman and Ford's rounds over the edges, until nothing changes."""
    distance = np.full(nodes, 1e30)
    distance[0] = 0.0
    for _ in range(nodes):
        changed = False
        for e in range(weights.size):
            d = distance[heads[e]] + weights[e]
            if d < distance[tails[e]]:
                distance[tails[e]] = d
                changed = True
        if not changed:
            break
    total = 0.0
    for v in range(nodes):
        if distance[v] < 1e29:
            total += distance[v] ** 2
    return total


@njit
def page_ranks(weights, starts, targets, damping):
    """Ranks of pages by rounds over the rows of a sparse matrix."""
    n = starts.size - 1
    rank, new = np.full(n, 1.0 / n), np.zeros(n)
    for _ in range(20):
        for v in range(n):
            new[v] = (1.0 - damping) / n
        for v in range(n):
            out = 0.0
            for e in range(starts[v], starts[v + 1]):
                out += weights[e]
            for e in range(starts[v], starts[v + 1]):
                new[targets[e]] += damping * rank[v] * weights[e] / out
        rank, new = new, rank
    return np.sum(rank * rank) * n


@njit
def segment_sums(x, asked, power):
    """A tree of sums over an array, built in place; each question goes up both of its sides."""
    n = x.size
    tree = np.zeros(2 * n)
    tree[n:] = np.abs(x) ** power
    for i in range(n - 1, 0, -1):
        tree[i] = tree[2 * i] + tree[2 * i + 1]
    total = 0.0
    for q in range(asked.shape[0]):
        low, high = asked[q, 0] + n, asked[q, 1] + n
        s = 0.0
        while low < high:
            if low & 1:
                s += tree[low]
                low += 1
            if high & 1:
                high -= 1
                s += tree[high]
            low //= 2
            high //= 2
        total += s ** (1.0 / power)
    return total


@njit
def formula(codes, constants, x):
    """An expression in Polish notation on a stack."""
    stack = np.zeros(16)
    total = 0.0
    for i in range(x.size):
        top, used = 0, 0
        for c in codes:
            if c == 0:
                stack[top] = x[i]
                top += 1
            elif c == 1:
                stack[top] = constants[used]
                top += 1
                used += 1
            elif c == 2:
                top -= 1
                stack[top - 1] += stack[top]
            elif c == 3:
                top -= 1
                stack[top - 1] *= stack[top]
            else:
                stack[top - 1] = math.sin(stack[top - 1])
        total += stack[0]
    return total


@njit
def forest(x, features, thresholds, leaves, softness):
    """Trees whose nodes are soft: each leaf by the product of the ways to it."""
    total = 0.0
    for i in range(x.shape[0]):
        for t in range(features.shape[0]):
            nodes = features.shape[1]
            for leaf in range(leaves.shape[1]):
                node, p = leaf + nodes, leaves[t, leaf]
                while node > 0:
                    parent = (node - 1) // 2
                    s = 1.0 / (1.0 + math.exp((x[i, features[t, parent]] - thresholds[t, parent]) / softness))
                    p *= s if node % 2 else 1.0 - s
                    node = parent
                total += p
    return total / x.shape[0]


@njit
def tandem_queues(arrivals, service, penalty):
    """Customers who pass several counters: each begins when both are free."""
    n, stations = service.shape
    free = np.zeros(stations)
    cost = 0.0
    for i in range(n):
        t = arrivals[i]
        for s in range(stations):
            begin = max(t, free[s])
            waited = begin - t
            cost += waited
            if waited > 1.0:
                cost += penalty * (waited - 1.0) ** 2
            t = begin + service[i, s]
            free[s] = t
    return cost / n


@njit
def pooled_blocks(y, w):
    """Isotonic regression: blocks that are pooled while they decrease."""
    n = y.size
    means, weights, sizes = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
    blocks = 0
    for i in range(n):
        means[blocks], weights[blocks], sizes[blocks] = y[i], w[i], 1
        blocks += 1
        while blocks > 1 and means[blocks - 2] > means[blocks - 1]:
            both = weights[blocks - 2] + weights[blocks - 1]
            means[blocks - 2] = (
                weights[blocks - 2] * means[blocks - 2] + weights[blocks - 1] * means[blocks - 1]
            ) / both
            weights[blocks - 2] = both
            sizes[blocks - 2] += sizes[blocks - 1]
            blocks -= 1
    total, k = 0.0, 0
    for b in range(blocks):
        for _ in range(sizes[b]):
            total += (k + 1) * means[b] ** 2
            k += 1
    return total


# ---- arguments -------------------------------------------------------------------------------------------------------
def _make_graph(rng, n):
    heads = np.concatenate([np.arange(n - 1), rng.integers(0, n, 2 * n)])
    tails = np.concatenate([np.arange(1, n), rng.integers(0, n, 2 * n)])
    return rng.uniform(0.5, 2.0, heads.size), heads, tails, n


def _make_pages(rng, n):
    starts = np.arange(0, 3 * n + 1, 3)
    return rng.uniform(0.5, 1.5, 3 * n), starts, rng.integers(0, n, 3 * n), 0.85


def _make_forest(rng, n):
    features, thresholds = rng.integers(0, 4, (3, 7)), rng.normal(size=(3, 7))
    return rng.normal(size=(n, 4)), features, thresholds, rng.normal(size=(3, 8)), 0.7


def _make_prices(rng, n):
    strikes = np.linspace(0.8, 1.25, n)
    d = np.log(1.0 / strikes) / 0.3
    cdf = [0.5 * np.array([math.erfc(-v / math.sqrt(2.0)) for v in d + s]) for s in (0.15, -0.15)]
    return cdf[0] - strikes * cdf[1], 1.0, strikes


PROGRAMS = [
    Real(
        affine_gaps, "alignment with affine gaps", lambda rng, n: (rng.normal(size=(n, n + 1)), 1.1, 0.3), (0, 1, 2),
        5, 100,
    ),
    Real(
        local_alignment, "local alignment in two rows",
        lambda rng, n: (
            rng.integers(0, 4, n), rng.integers(0, 4, n + 2), 2.0 * np.eye(4) + 0.3 * rng.normal(size=(4, 4)), 0.7,
        ), (2, 3), 6, 150, "two choices a cell are kept, and branched by",
    ),
    Real(
        best_states, "the best path of hidden states",
        lambda rng, n: (rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=(3, 4)), rng.integers(0, 4, n)),
        (0, 1, 2), 6, 500,
    ),
    Real(
        connectionist_loss, "labels of sequences without their places",
        lambda rng, n: (rng.normal(size=(n, 5)), rng.integers(1, 5, n // 3)), (0,), 9, 60,
    ),
    Real(
        seam, "the cheapest way through a picture", lambda rng, n: (rng.uniform(size=(n, n)), 0.1), (0, 1), 6, 200,
        "minima in vector registers; the sweep goes to one of three neighbours by branches that nothing foretells",
    ),
    Real(
        callable_bond, "bonds that may be called, on a trinomial tree",
        lambda rng, n: (0.03, 0.1, 0.02, 0.04, 1.05, n), (0, 1, 2, 3, 4), 6, 150,
    ),
    Real(
        asian_paths, "means of paths that are knocked out",
        lambda rng, n: (1.0, 0.4, 0.02, rng.normal(size=(n, 12))), (0, 1, 2), 8, 1000,
    ),
    Real(smile, "implied volatilities", _make_prices, (0, 1), 4, 200),
    Real(
        curve, "curves of discounts from par rates",
        lambda rng, n: (
            rng.uniform(0.02, 0.04, n), np.arange(n + 1.0),
            np.stack([rng.uniform(0.1, n, 3 * n), rng.normal(size=3 * n)], 1),
        ), (0, 2), 5, 40,
    ),
    Real(shortest_ways, "shortest ways in a graph", _make_graph, (0,), 7, 200),
    Real(page_ranks, "ranks of pages", _make_pages, (0, 3), 6, 300),
    Real(
        segment_sums, "trees of sums",
        lambda rng, n: (rng.normal(size=n), np.sort(rng.integers(0, n, (n, 2)), axis=1) + np.array([0, 1]), 2.3),
        (0, 2), 8, 500,
    ),
    Real(
        formula, "expressions on a stack",
        lambda rng, n: (np.array([0, 1, 3, 0, 4, 2, 1, 2, 0, 3, 4]), np.array([1.3, -0.4]), rng.normal(size=n)), (1, 2),
        5, 1000,
    ),
    Real(forest, "forests of soft trees", _make_forest, (0, 2, 3, 4), 4, 100),
    Real(
        tandem_queues, "queues, one behind the other",
        lambda rng, n: (np.cumsum(rng.exponential(0.7, n)), rng.exponential(0.8, (n, 3)), 0.3), (0, 1, 2), 8, 2000,
    ),
    Real(
        pooled_blocks, "isotonic regression",
        lambda rng, n: (1.0 + rng.normal(size=n), rng.uniform(0.5, 1.5, n)), (0, 1), 8, 2000,
    ),
]  # fmt: skip
