"""The shape of the package: imports go down the floors alone, the public names are a checked list, modules stay small.

The imports are read from the source with `ast`, those inside functions and under TYPE_CHECKING too. And recipes: whatever
part is changed shows in the signature, and the signature rebuilds the recipe.
"""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import fastscore
from fastscore.errors import UsageError
from fastscore.recipes import PARTS, RECIPES, Recipe, find_recipe, resolve_recipe
from tests.strategies import variants

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "fastscore"

#: From the ground up; a room may import from its own floor and from those below. A room not named here is a caller.
FLOORS = (
    {"errors", "version", "schema", "arguments", "arrow", "rows", "kernels", "forks"},
    {"text", "recipes", "formats", "statuses"},
    {"metrics", "align", "totals"},
    {"scoring", "stats"},
    {"pipeline", "report", "official", "result", "compare", "retrieval", "rewards", "engines", "output", "check"},
    {"commands"},
    {"cli"},
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
CALLERS = FLOOR["pipeline"]
#: Rooms that stand apart: the public face, which names everything, and the reference implementation.
APART = {"", "naive"}
#: What users may rely on; a name added or taken away is a decision, so it is made here too.
PUBLIC = [
    "RECIPES",
    "Recipe",
    "Result",
    "__version__",
    "compare",
    "differ",
    "explain",
    "normalize",
    "scan",
    "score",
    "score_batch",
    "score_files",
    "score_one",
    "score_ranking",
]
MOST_LINES = 460
HEAVY = ("numba", "numpy", "pyarrow", "polars", "scipy", "rich", "cyclopts", "msgspec")
MODULES = {
    ".".join(("fastscore", *p.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): p
    for p in sorted(PACKAGE.rglob("*.py"))
}


def _room(module: str) -> str:
    """The room of a module: the first name below the package, "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def _floor(module: str) -> int:
    return FLOOR.get(_room(module), CALLERS)


def _imports(module: str, path: Path, *, running: bool = False) -> list[tuple[str, int]]:
    """All modules that a file imports, anywhere in it, with the lines; a name from a package is that module where it is one.

    `running` leaves out what stands under TYPE_CHECKING.
    """
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    typing_only = {inner for node in guarded for statement in node.body for inner in ast.walk(statement)}
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if running and node in typing_only:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.append((inner if inner in MODULES else source, node.lineno))
    return found


def _inner(*, running: bool = False) -> list[tuple[str, str, int]]:
    """The package's own arrows: from, to, line."""
    return [
        (module, target, line)
        for module, path in MODULES.items()
        for target, line in _imports(module, path, running=running)
        if target.partition(".")[0] == "fastscore"
    ]


def _circles(arrows: set[tuple[str, str]]) -> list[str]:
    """The names from which a way leads back to themselves."""
    after: dict[str, set[str]] = {}
    for one, other in arrows:
        after.setdefault(one, set()).add(other)

    def reached(name: str, seen: set[str]) -> set[str]:
        for other in after.get(name, set()) - seen:
            seen.add(other)
            reached(other, seen)
        return seen

    return sorted(name for name in after if name in reached(name, set()))


def test_imports_go_down_the_floors_only() -> None:
    rising = [
        f"{module}:{line} imports {target}"
        for module, target, line in _inner()
        if _room(module) not in APART and _room(target) != "naive" and _floor(module) < _floor(target)
    ]
    assert rising == []


def test_no_room_imports_the_public_face() -> None:
    assert [f"{m}:{line}" for m, target, line in _inner() if target == "fastscore" and m != "fastscore"] == []


def test_rooms_of_one_floor_do_not_go_round_in_circles() -> None:
    rooms = {(_room(m), _room(target)) for m, target, _ in _inner(running=True) if _room(m) not in APART}
    assert _circles({(one, other) for one, other in rooms if one != other}) == []


def test_modules_do_not_go_round_in_circles() -> None:
    """Inside a room too; a package's own `__init__` may name its modules."""
    arrows = {(m, target) for m, target, _ in _inner(running=True) if MODULES[m].name != "__init__.py"}
    assert _circles(arrows) == []


def test_reference_implementation_stands_apart() -> None:
    """`naive` takes nothing from the package and nothing beyond the standard library; only `--check` takes it."""
    outside = [t for t, _ in _imports("fastscore.naive", MODULES["fastscore.naive"])]
    assert [t for t in outside if t.partition(".")[0] not in sys.stdlib_module_names] == []
    users = {m for m, target, _ in _inner() if target == "fastscore.naive"}
    assert {m for m in users if m != "fastscore.check" and not m.startswith("fastscore.commands.")} == set()


def test_kernels_are_numba_and_arrays_only() -> None:
    allowed = {"numba", "llvmlite", "numpy", "fastscore", "platformdirs"} | sys.stdlib_module_names
    wrong = [
        f"{module}:{line} imports {target}"
        for module, path in MODULES.items()
        for target, line in _imports(module, path)
        if (_room(module) == "kernels" and target.partition(".")[0] not in allowed)
        or (_room(module) != "kernels" and target.partition(".")[0] in ("numba", "llvmlite"))
    ]
    assert wrong == []


def test_core_needs_neither_pandas_nor_torch() -> None:
    wanted = [
        f"{module}:{line} imports {target}"
        for module, path in MODULES.items()
        for target, line in _imports(module, path)
        if target.partition(".")[0] in ("pandas", "torch") and _room(module) not in ("engines", "rewards")
    ]
    assert wanted == []


def test_modules_stay_small_and_say_what_they_are_for() -> None:
    sizes = {m: len(p.read_text(encoding="utf-8").split("\n")) - 1 for m, p in MODULES.items()}
    assert {m: n for m, n in sizes.items() if n > MOST_LINES} == {}
    assert [m for m, p in MODULES.items() if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))] == []
    assert [m for m in MODULES if m.rpartition(".")[2] in ("utils", "util", "helpers", "misc", "common")] == []


def test_top_level_holds_what_the_design_draws() -> None:
    """What git tracks; a checkout that is no git repository has nothing to compare."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False)
    top = {line.partition("/")[0] for line in listed.stdout.split("\n") if line and not line.startswith(".")}
    allowed = {"fastscore", "tests", "benchmarks", "data", "pyproject.toml", "README.md"}
    assert top - allowed == set()


def test_public_names() -> None:
    assert fastscore.__all__ == PUBLIC
    assert dir(fastscore) == PUBLIC
    for name in PUBLIC:
        value = getattr(fastscore, name)
        assert not callable(value) or value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fastscore.nothing


def test_public_names_are_the_ones_that_type_checkers_see() -> None:
    tree = ast.parse(MODULES["fastscore"].read_text(encoding="utf-8"))
    seen = {a.asname or a.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for a in node.names}
    assert set(fastscore.__all__) <= seen
    assert set(fastscore._HOMES) == set(fastscore.__all__) - {"__version__"}


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, fastscore, fastscore.cli; print([m for m in {HEAVY!r} if m in sys.modules])"
    for statement, left in ((code.replace(", fastscore.cli", ""), "[]"), (code, "['cyclopts']")):
        done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
        loaded = done.stdout.strip()
        if "fastscore.cli" in statement:
            assert {"numba", "pyarrow", "polars", "scipy"}.isdisjoint(ast.literal_eval(loaded))
        else:
            assert loaded == left


# Recipes: a signature holds everything (R43).

#: A recipe in which every part has an effect, so that each change must show.
_BUSY = Recipe(name="busy", case="lower", punctuation="ascii", articles="en", source="a test")


@pytest.mark.parametrize("part", list(PARTS))
def test_every_part_changed_changes_the_signature(part: str) -> None:
    """R43: two recipes that differ in a part print different signatures."""
    made = [dataclasses.replace(_BUSY, **{part: value}) for value in PARTS[part]]
    if part == "articles":
        made = [dataclasses.replace(_BUSY, articles=value) for value in PARTS[part]]
    assert len({r.signature for r in made}) == len(PARTS[part])
    assert [Recipe.from_signature(r.signature) for r in made] == made


def test_every_field_of_a_recipe_is_a_part() -> None:
    assert {f.name for f in dataclasses.fields(Recipe)} == {"name", "source", *PARTS}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_catalogue_is_rebuilt_from_its_signatures(recipe: Recipe) -> None:
    assert Recipe.from_signature(recipe.signature) == recipe
    assert find_recipe(recipe.signature) == recipe
    assert find_recipe(recipe.name) is recipe
    assert resolve_recipe(recipe) == (recipe, None)


def test_catalogue_signatures_differ() -> None:
    assert len({r.signature for r in RECIPES.values()}) == len(RECIPES)


@given(variants())
def test_any_recipe_is_rebuilt_from_its_signature(recipe: Recipe) -> None:
    """Parts without effect (what comes in the place of punctuation that is kept) need not be printed."""
    rebuilt = Recipe.from_signature(recipe.signature)
    assert rebuilt.signature == recipe.signature
    idle = set()
    if recipe.punctuation == "keep":
        idle |= {"punctuation_to", "articles_order"}
    if recipe.articles == "none":
        idle |= {"articles_to", "articles_order"}
    same: dict[str, Any] = {part: getattr(recipe, part) for part in idle}
    assert dataclasses.replace(rebuilt, **same) == recipe


def test_recipes_are_frozen_and_hashable() -> None:
    recipe = RECIPES["coqa"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe.case = "keep"  # type: ignore[misc]
    assert {recipe: 1}[Recipe.from_signature(recipe.signature)] == 1
    with pytest.raises(TypeError):
        RECIPES["mine"] = recipe  # type: ignore[index]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"case": "upper"}, ["case", "'lower'", "'upper'"]),
        ({"fold_quotes_and_dashes": 1}, ["fold_quotes_and_dashes", "1"]),
        ({"name": "a|b"}, ["name", "'a|b'"]),
        ({"name": ""}, ["name", "''"]),
        ({"references": None}, ["references", "'best'", "None"]),
    ],
)
def test_wrong_parts_are_refused(parts: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        dataclasses.replace(_BUSY, **parts)
    assert [s for s in said if s not in str(caught.value)] == []


@pytest.mark.parametrize("change", [("lower", "upper"), ("|words:split", ""), ("|refs:best", "|refs:best|new:1")])
def test_broken_signatures_are_refused(change: tuple[str, str]) -> None:
    with pytest.raises(UsageError):
        Recipe.from_signature(RECIPES["squad"].signature.replace(*change))


def test_signature_of_another_unicode_version_is_refused() -> None:
    import unicodedata

    other = RECIPES["squad"].signature.replace(f"unicode:{unicodedata.unidata_version}", "unicode:1.1.0")
    with pytest.raises(UsageError, match=r"1\.1\.0"):
        Recipe.from_signature(other)
