"""The runner of the pages of docs/tasks must be able to fail, and reads pages as it says."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402

PAGE = """# Title

```sh
kubectl apply -f - <<'YAML'
kind: Job
YAML
```

Prints:

```text
job created
```

```
not run, not compared
```

<!-- not run: no kubelet -->
```sh
kubectl logs x
```

1. A list

   ```sh
   berth get queues -A   # asks
   ```

   ```text
   a  b
   ```
"""


class Reading(unittest.TestCase):
    def test_steps(self):
        steps = pages.steps_of(PAGE)
        self.assertEqual([step.commands.lines[0] for step in steps],
                         ["kubectl apply -f - <<'YAML'", "kubectl logs x", "berth get queues -A   # asks"])
        self.assertEqual([step.shown and step.shown.text for step in steps], ["job created", None, "a  b"])
        self.assertEqual([step.commands.skip for step in steps], [None, "no kubelet", None])
        self.assertEqual([step.commands.asks() for step in steps], [False, False, True])

    def test_output_needs_commands(self):
        with self.assertRaises(ValueError):
            pages.steps_of("```text\nx\n```\n")
        with self.assertRaises(ValueError):
            pages.steps_of("```sh\nx\n```\n```text\nx\n```\n```text\ny\n```\n")
        with self.assertRaises(ValueError):
            pages.steps_of("```sh\nx\n")

    def test_only_what_reads_is_asked_again(self):
        def asks(text):
            block = pages.Block("sh", 1)
            block.lines = text.split("\n")
            return block.asks()
        self.assertTrue(asks("berth get workloads -A \\\n  --state Pending"))
        self.assertTrue(asks("kubectl berth explain a/b"))
        self.assertTrue(asks("# a comment\nkubectl get pods | wc -l"))
        self.assertFalse(asks("kubectl get pods\nkubectl delete pod x"))
        self.assertFalse(asks("berth queue stop research"))
        self.assertFalse(asks("# a comment"))

    def test_the_index_names_every_page(self):
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, pages.FOLDER)
            os.makedirs(folder)

            def write(name, text):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            write("a.md", "```sh\ntrue\n```\n")
            write("b.md", "")
            write("index.md", "[b](b.md) [a](a.md) [b](b.md)")
            self.assertEqual([name for name, _ in pages.pages_of(root)], ["b.md", "a.md"])
            write("index.md", "[b](b.md)")
            with self.assertRaises(ValueError):
                pages.pages_of(root)
            write("index.md", "[b](b.md) [a](a.md) [c](c.md)")
            with self.assertRaises(ValueError):
                pages.pages_of(root)


class Matching(unittest.TestCase):
    def test_spaces_do_not_count(self):
        self.assertTrue(pages.matches("A  B", "A    B\n"))
        self.assertTrue(pages.matches("  A", "A   \n\n"))
        self.assertFalse(pages.matches("AB", "A B"))

    def test_wildcards(self):
        self.assertTrue(pages.matches("made ... ago", "made 12 s ago"))
        self.assertFalse(pages.matches("made ... ago", "made\n ago"))
        self.assertTrue(pages.matches("a\n...\nd", "a\nb\nc\nd"))
        self.assertTrue(pages.matches("a\n...\nd", "a\nd"))
        self.assertTrue(pages.matches("...\nd", "d"))
        self.assertFalse(pages.matches("a\n...\nd", "a\nb"))
        self.assertTrue(pages.matches("...", ""))

    def test_all_of_it_counts(self):
        self.assertFalse(pages.matches("a", "a\nb"))
        self.assertFalse(pages.matches("a\nb", "a"))
        self.assertFalse(pages.matches("a.c", "abc"))
        self.assertFalse(pages.matches("a", ""))


class FakeCluster:
    """Answers each run with the next of a list, the last one for ever."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def run(self, commands):
        self.asked.append(commands)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Running(unittest.TestCase):
    def setUp(self):
        self.patience, pages.PATIENCE_S = pages.PATIENCE_S, 0.5

    def tearDown(self):
        pages.PATIENCE_S = self.patience

    def step(self, commands, shown=None):
        return pages.steps_of(f"```sh\n{commands}\n```\n" + (f"```text\n{shown}\n```\n" if shown else ""))[0]

    def test_asks_until_it_is_as_shown(self):
        cluster = FakeCluster((0, "Pending"), (1, "Running"), (0, "Running"))
        self.assertEqual(pages.run_step(cluster, self.step("berth get workloads", "Running")), "")
        self.assertEqual(len(cluster.asked), 3)

    def test_changes_are_made_once(self):
        cluster = FakeCluster((1, "no"), (0, "created"))
        self.assertIn("exit status 1", pages.run_step(cluster, self.step("kubectl create -f x", "created")))
        self.assertEqual(len(cluster.asked), 1)

    def test_another_output_is_shown(self):
        wrong = pages.run_step(FakeCluster((0, "Pending")), self.step("berth get workloads", "Running"))
        self.assertIn("the page shows\n    Running", wrong)
        self.assertIn("it printed\n    Pending", wrong)

    def test_a_page_must_run_something_and_leave_nothing(self):
        self.assertIn("nothing of this page runs", pages.run_page(FakeCluster((0, "")), "a.md", []))
        step = self.step("kubectl create -f x")
        self.assertEqual(pages.run_page(FakeCluster((0, "")), "a.md", [step]), "")
        self.assertIn("leaves behind: job/x", pages.run_page(FakeCluster((0, "job/x")), "a.md", [step]))


if __name__ == "__main__":
    unittest.main()
