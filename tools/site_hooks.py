"""Hooks of mkdocs.yml: the site also has the pages of the tree that docs/ links to, such as CHANGELOG.md."""
import os
import re

from mkdocs.structure.files import File

LINK = re.compile(r"\]\(([^)\s]+)\)")
_links = {}


def _target(source, link):
    """The file of the tree that a link of a file of the tree leads to; None where it leads elsewhere."""
    name = link.partition("#")[0]
    if not name or re.match(r"[a-z]+:", link):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(source), name))


def _markdown(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def on_files(files, config):
    """Adds the Markdown outside of docs/ that a page of docs/ links to."""
    root = os.path.dirname(os.path.abspath(config["config_file_path"]))
    wanted = set()
    for page in files.documentation_pages():
        source = "docs/" + page.src_uri
        _links[page.src_uri] = source
        for link in LINK.findall(_markdown(root, source)):
            target = _target(source, link)
            if target and target.endswith(".md") and not target.startswith("docs/") and os.path.exists(os.path.join(root, target)):
                wanted.add(target)
    for target in sorted(wanted):
        files.append(File(target, root, config["site_dir"], config["use_directory_urls"]))
        _links[target] = target
    return files


def on_page_markdown(markdown, page, config, files):
    """Links between docs/ and these pages lead to their places in the site. Other links out of docs/ become plain text."""
    source = _links[page.file.src_uri]
    places = {tree: site for site, tree in _links.items()}

    def moved(match):
        target = _target(source, match.group(1))
        if target is None or (source.startswith("docs/") and target.startswith("docs/")):
            return match.group(0)
        site = places.get(target)
        if site is None:
            return "]"
        anchor = match.group(1).partition("#")[2]
        there = os.path.relpath(site, os.path.dirname(page.file.src_uri) or ".")
        return f"]({there}{'#' + anchor if anchor else ''})"

    return LINK.sub(moved, markdown)
