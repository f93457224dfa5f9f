#!/usr/bin/env python3
"""Breaks the engine on purpose, one small way at a time, and shows that the property tests notice.

usage: tests/property/mutants.py [--only NAME] [--histories N] [--jobs N] [--folder DIR] [--list]

A copy of the tree is made in --folder (default: /tmp/berth-mutants), every break is put into it behind a switch
(BERTH_MUTANT=NAME), test_property and berth are built once, and each break is run over random histories from seed 1 until
one fails. Prints a Markdown table: what is broken, which invariant that is, what the first failing history says, and how
many histories it took. Exit codes: 0 all were noticed (and the engine without a break fails nothing), 1 one was not.

By hand, not in CI: it builds the engine anew (minutes). A break whose text is no longer in the source is an error that
names it: move it to where the code is now.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

# name, invariant of docs/contributors/testing.md, what is broken, file below src/engine, texts with their breaks.
MUTANTS = [
    ('one-short', 1, 'a gang starts with one pod fewer than its least number', 'place/placer.cc', [
        ('  const std::int64_t least = scope_.must(set);\n'
         '  if (s.waiting < least) {',
         '  const std::int64_t least = scope_.must(set) - (scope_.must(set) > 1 && broken("one-short") ? 1 : 0);\n'
         '  if (s.waiting < least) {'),
    ]),
    ('domain-forgotten', 1, 'the chosen topology domain is forgotten when nodes are picked', 'place/placer_slots.cc', [
        ('  if (scope_.domains.empty()) return got + place_anywhere(',
         '  if (scope_.domains.empty() || broken("domain-forgotten")) return got + place_anywhere('),
    ]),
    ('spread-ignored', 2, 'any domain may have one pod more, whatever a spread says', 'nodes/counted_spread.cc', [
        ('  return with_it - fewest(rule, planes) <= rule.max_skew;\n',
         '  return broken("spread-ignored") || with_it - fewest(rule, planes) <= rule.max_skew;\n'),
    ]),
    ('volumes-ignored', 2, 'any node has the volumes of a pod', 'nodes/shape.cc', [
        ('    if (!any_matches(shape.volumes[i], node.labels, node.name)) return',
         '    if (!broken("volumes-ignored") && !any_matches(shape.volumes[i], node.labels, node.name)) return'),
    ]),
    ('limits-ignored', 2, 'a node attaches any number of volumes', 'nodes/nodes.cc', [
        ('  for (const auto& [r, most] : limits) accounts_[',
         '  for (const auto& [r, most] : limits)\n    if (!broken("limits-ignored")) accounts_['),
    ]),
    ('shared-ignored', 2, 'a shared volume takes no place of its node', 'nodes/room.cc', [
        ('nodes.held().mounted.missing(id',
         '(broken("shared-ignored") ? 0 : 1) * nodes.held().mounted.missing(id'),
    ]),
    ('quota-ignored', 2, 'any amount fits into a queue\'s quota', 'quota/tree.cc', [
        ('    if (need == 0) continue;\n',
         '    if (need == 0 || broken("quota-ignored")) continue;\n'),
    ]),
    ('lanes-unlimited', 2, 'a lane may have any amount of its queue\'s quota', 'state/queue_order.cc', [
        ('  return !is_limited(*this, w) ||',
         '  return broken("lanes-unlimited") || !is_limited(*this, w) ||'),
    ]),
    ('firm-unlimited', 2, 'work that is not preemptible may have any amount of its queue\'s quota', 'state/limits.h', [
        ('  return w.preemptible ? kInt64Max :',
         '  return w.preemptible || broken("firm-unlimited") ? kInt64Max :'),
    ]),
    ('port-given-twice', 2, 'a host port that another pod has is given once more', 'nodes/index.cc', [
        ('    if (fit > 0 && !shape_->tokens.empty() && !nodes.is_opaque(id))',
         '    if (fit > 0 && !shape_->tokens.empty() && !nodes.is_opaque(id) && !broken("port-given-twice"))'),
    ]),
    ('releasing-is-free', 2, 'held work starts in room whose pods have not ended yet', 'decide/held_room.cc', [
        ('    if (!state_.accounts.has_room(charged(w, slot), kNow)) return false;',
         '    if (!state_.accounts.has_room(charged(w, slot), broken("releasing-is-free") ? kAfter : kNow)) return false;'),
    ]),
    ('protected-reclaimed', 3, 'work that runs on its own queue\'s quota is reclaimed', 'preempt/with_places/candidates.cc', [
        ('  const Unit& unit = all_[i].unit;\n'
         '  const QueueId queue = ',
         '  if (broken("protected-reclaimed")) return true;\n'
         '  const Unit& unit = all_[i].unit;\n'
         '  const QueueId queue = '),
    ]),
    ('equals-yield', 3, 'work of equal priority yields to newer work', 'preempt/rights/yield.cc', [
        ('    case WithinQueue::kLowerPriority:\n'
         '      return now_or_never(v.priority < w.priority);',
         '    case WithinQueue::kLowerPriority:\n'
         '      return now_or_never(v.priority < w.priority ||\n'
         '                          (broken("equals-yield") && v.priority == w.priority &&\n'
         '                           v.workload.arrival < w.workload.arrival));'),
    ]),
    ('minimum-ignored', 3, 'nobody\'s minimum runtime counts', 'preempt/with_places/candidates.cc', [
        ('  if (unit.whole && !unit.holder && !ran_its_minimum(state_, v, w_, minimum))',
         '  if (unit.whole && !unit.holder && !broken("minimum-ignored") &&\n'
         '      !ran_its_minimum(state_, v, w_, minimum))'),
    ]),
    ('spare-victims', 4, 'victims that are not needed are not given back', 'preempt/with_places/victims.cc', [
        ('      if (candidates_->may_come_back(victims[i])) {',
         '      if (!broken("spare-victims") && candidates_->may_come_back(victims[i])) {'),
    ]),
    ('told-as-decided', 9, 'starts are told in the order in which they were decided, whatever others they need', 'decide/decisions_net.cc', [
        ('  if (order_changed_) put_in_turn(',
         '  if (order_changed_ && !broken("told-as-decided")) put_in_turn('),
    ]),
    ('holds-stay', 4, 'held room never becomes a start', 'decide/held_room.cc', [
        ('  state_.news.gained_now = false;\n',
         '  state_.news.gained_now = false;\n'
         '  if (broken("holds-stay")) return;\n'),
    ]),
    ('in-parts', 5, 'decide() ends at every fifth attempt, and leaves the rest for the next call', 'decide/decide.cc', [
        ('      if (!next.valid()) break;\n',
         '      if (!next.valid() || (broken("in-parts") && state_.stats.attempts % 5 == 4)) break;\n'),
    ]),
    ('asleep-to-quota', 6, 'quota that becomes free wakes nobody', 'decide/decide.cc', [
        ('    if (roots.count(state_.quota.root(queue)) > 0) call(classes);',
         '    if (roots.count(state_.quota.root(queue)) > 0 && !broken("asleep-to-quota")) call(classes);'),
    ]),
    ('asleep-to-nodes', 6, 'room that becomes free on nodes wakes nobody', 'decide/decide.cc', [
        ('    if (fits || by_terms) {',
         '    if ((fits || by_terms) && broken("asleep-to-nodes")) {\n    } else if (fits || by_terms) {'),
    ]),
    ('nobody-is-next', 6, 'who tried for its group and leaves hands over to nobody', 'order/pending.cc', [
        ('  if (tried) {\n    try_next(group);',
         '  if (tried && broken("nobody-is-next")) {\n  } else if (tried) {\n    try_next(group);'),
    ]),
    ('reserved-for-ever', 6, 'work sleeps on when the room that was reserved from it is not any more', 'decide/old_work.cc', [
        ('    if (!same) state_.pending.wake(id);',
         '    if (!same && !broken("reserved-for-ever")) state_.pending.wake(id);'),
    ]),
    ('line-jumped', 6, 'a strict queue lets others pass its blocked head', 'order/pending.cc', [
        ('  return blocked.empty() ? nullptr : &*blocked.begin();',
         '  return blocked.empty() || broken("line-jumped") ? nullptr : &*blocked.begin();'),
    ]),
    ('quota-told-wrong', 7, 'a reason says that one unit of quota more is left than is',
     'place/placer_notes.cc', [
        ('never ? most : saturating_add(have, given),\n',
         'never ? most : saturating_add(have, given) + (broken("quota-told-wrong") ? 1 : 0),\n'),
    ]),
    ('new-ones-end', 9, 'what started in the same decision is evicted', 'decide/decisions_net.cc', [
        ('  if (!started_victims(plan)) return 0;',
         '  if (!started_victims(plan) || broken("new-ones-end")) return 0;'),
    ]),
    ('borrowers-first', 9, 'what borrows keeps the room of what is within its own quota', 'decide/attempt_own.cc', [
        ('  if (borrowers.empty() ||',
         '  if (borrowers.empty() || broken("borrowers-first") ||'),
    ]),
    ('forgetful', 8, 'a decision depends on how many were made by the process', 'decide/decisions.cc', [
        ('  d.cost = cost;\n',
         '  static int calls = 0;\n'
         '  d.cost = cost + (broken("forgetful") ? ++calls : 0);\n'),
    ]),
]
LIMIT = 900  # seconds for one break
SWITCH = """// Which break of tests/property/mutants.py is on.
#pragma once
#include <cstdlib>
#include <string_view>
namespace berth::engine {
inline bool broken(std::string_view name) {
  static const char* const chosen = std::getenv("BERTH_MUTANT");
  return chosen != nullptr && name == chosen;
}
}  // namespace berth::engine
"""


def fail(text):
    print(f'mutants.py: {text}', file=sys.stderr)
    sys.exit(2)


def copy_tree(root, to):
    """The files that git knows or would take, without what is built."""
    listed = subprocess.run(['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                            check=True, capture_output=True).stdout.decode().split('\0')
    for name in listed:
        source = root / name
        if not name or not source.is_file():
            continue
        target = to / name
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue  # its time stays, and what was built of it
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def break_engine(root, to):
    engine = to / 'src/engine'
    (engine / 'broken.h').write_text(SWITCH)
    for file in sorted({m[3] for m in MUTANTS}):
        text = (root / 'src/engine' / file).read_text()
        for name, _, _, of, edits in MUTANTS:
            for old, new in edits if of == file else []:
                if text.count(old) != 1:
                    fail(f'{name}: its text is {text.count(old)} times in src/engine/{file}, not once:\n{old}')
                text = text.replace(old, new)
        text = text.replace('#include "', '#include "engine/broken.h"\n#include "', 1)
        if (engine / file).read_text() != text:
            (engine / file).write_text(text)


def build(to, jobs):
    for command in (['cmake', '--preset', 'release'],
                    ['cmake', '--build', '--preset', 'release', '-j', str(jobs), '--target', 'test_property', 'berth']):
        done = subprocess.run(command, cwd=to, capture_output=True, text=True)
        if done.returncode != 0:
            fail(' '.join(command) + ' failed:\n' + done.stdout[-4000:] + done.stderr[-4000:])


def first_failure(to, name, histories, jobs):
    """(histories it took, what the failure says), or None where nothing was noticed."""
    logs = to / 'logs'
    logs.mkdir(exist_ok=True)
    environment = dict(os.environ, BERTH_MUTANT=name, BERTH_PROPERTY_DIR=str(logs))
    command = [str(to / 'build/release/tests/property/test_property'), '--gtest_filter=Property.InvariantsHold*',
               '--histories', str(histories), '--jobs', str(jobs)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return (0, f'did not end within {LIMIT} seconds')
    found = re.findall(r'the first of seed (\d+): (.*)', done.stdout)
    if found:
        seed, text = min((int(seed), text) for seed, text in found)
        return (seed, text)
    return None if done.returncode == 0 else (0, f'exit code {done.returncode}')


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--only', action='append', default=[])
    parser.add_argument('--histories', type=int, default=10000)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--folder', type=pathlib.Path, default=pathlib.Path('/tmp/berth-mutants'))
    parser.add_argument('--list', action='store_true')
    args = parser.parse_args()
    unknown = set(args.only) - {m[0] for m in MUTANTS}
    if unknown:
        fail(f'no such mutants: {", ".join(sorted(unknown))}; --list has them')
    if args.list:
        for name, invariant, what, file, _ in MUTANTS:
            print(f'{name:20} invariant {invariant}: {what} (src/engine/{file})')
        return 0
    root = pathlib.Path(__file__).resolve().parents[2]
    print(f'building in {args.folder} ...', file=sys.stderr)
    copy_tree(root, args.folder)
    break_engine(root, args.folder)
    build(args.folder, args.jobs)

    without = first_failure(args.folder, '', min(args.histories, 2000), args.jobs)
    if without:
        fail(f'the engine without a break fails, too (seed {without[0]}): {without[1]}')
    print('| break | invariant | what is broken | noticed by | histories |\n|---|---|---|---|---|', flush=True)
    missed = 0
    for name, invariant, what, _, _ in MUTANTS:
        if args.only and name not in args.only:
            continue
        found = first_failure(args.folder, name, args.histories, args.jobs)
        missed += found is None
        seed, text = found or (args.histories, '**nothing**')
        print(f'| {name} | {invariant} | {what} | {text.replace("|", "/")} | {seed} |', flush=True)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
