"""tools/check-site must be able to fail."""
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check-site")


class CheckSite(unittest.TestCase):
    def check(self, pages):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, TOOL, folder], stdout=subprocess.PIPE, check=False)
            return done.returncode, done.stdout.decode().replace(folder, "SITE")

    def test_links_that_lead_somewhere(self):
        code, text = self.check({"index.html": '<a href="a/b.html#here"><img src="p.png"></a> <a href="https://example.org/x">',
                                 "a/b.html": '<h1 id="here"><a href="../index.html?q=1"></a><a href="#here">', "p.png": ""})
        self.assertEqual(code, 0, text)
        self.assertIn("2 pages, 5 links, 0 wrong", text)

    def test_a_missing_page_picture_or_anchor(self):
        code, text = self.check({"index.html": '<a href="gone.html"><img src="gone.png"><a href="b.html#gone"><a href="#gone">',
                                 "b.html": ""})
        self.assertEqual(code, 1)
        self.assertIn("link to 'gone.html': there is no SITE/gone.html", text)
        self.assertIn("link to 'gone.png'", text)
        self.assertIn("link to 'b.html#gone': no such anchor", text)
        self.assertIn("link to '#gone': no such anchor", text)
        self.assertIn("4 wrong", text)

    def test_a_site_without_pages(self):
        self.assertEqual(self.check({"readme.txt": ""})[0], 1)


if __name__ == "__main__":
    unittest.main()
