# Everything happens in an environment of its own, made on first use. `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin
DEMO := demo
SITE = NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
.DEFAULT_GOAL := help
.PHONY: help demo test check format bench studies docs clean

help: ## say what each target does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

demo: .venv/.installed ## run the main job on data that ship with the package
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@echo "The anaesthetists of Dawid and Skene (1979): five judges, one of them three times, no truth known."
	@$(BIN)/adjudge datasets anesthesia --out $(DEMO)/anesthesia.csv
	@$(BIN)/adjudge fit $(DEMO)/anesthesia.csv --out $(DEMO)/anesthesia --rows 5
	@echo
	@echo "A simulated crowd of relevance judges, the busiest of them spammers; the truth of one item in ten is known."
	@$(BIN)/adjudge simulate carpenter --size topics=10 --size items=600 --size judges=40 --size judgments=4000 --size gold=60 --seed 7 --out $(DEMO)/crowd
	@$(BIN)/adjudge fit $(DEMO)/crowd/labels.csv --gold $(DEMO)/crowd/gold.csv --model dawid-skene --out $(DEMO)/fit --rows 5
	@echo
	@$(BIN)/adjudge score $(DEMO)/fit $(DEMO)/crowd/truth.csv
	@echo
	@echo "The same crowd by majority vote, to compare:"
	@$(BIN)/adjudge fit $(DEMO)/crowd/labels.csv --model majority --format csv > $(DEMO)/vote.csv
	@$(BIN)/adjudge score $(DEMO)/vote.csv $(DEMO)/crowd/truth.csv
	@echo
	@echo "Who these judges are, and a page on all of it:"
	@$(BIN)/adjudge judges $(DEMO)/fit --sort judgments --rows 3
	@$(BIN)/adjudge report $(DEMO)/fit --truth $(DEMO)/crowd/truth.csv --out $(DEMO)/report.html
	@echo
	@echo "Files: $(DEMO)/report.html, $(DEMO)/fit/labels.csv, $(DEMO)/fit/judges.csv, $(DEMO)/crowd/labels.csv, $(DEMO)/crowd/truth.csv"
	@echo "To collect such judgments in a browser: $(BIN)/adjudge serve --demo"

test: .venv/.tools .venv/.system ## run every test
	$(BIN)/pytest -n 2

check: .venv/.tools ## format, lint, types, import contracts, docs in step with the code
	$(BIN)/ruff format --check src tests studies docs
	$(BIN)/ruff check src tests studies docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest tests/test_imports.py
	$(BIN)/python docs/generate.py --check
	$(SITE) --quiet

format: .venv/.tools ## put the code into shape
	$(BIN)/ruff format src tests studies docs
	$(BIN)/ruff check --fix src tests studies docs

docs: .venv/.tools ## write the generated pages, and build the documentation site into site/
	$(BIN)/python docs/generate.py
	$(SITE)

bench: .venv/.tools ## measure against the peers, and write docs/explanation/measured/
	$(BIN)/python -m studies.benchmarks.run

studies: .venv/.tools ## run the papers' comparisons on the shared data, and write docs/explanation/papers/
	$(BIN)/python -m studies.benchmarks.papers
	$(BIN)/python -m studies.pages docs/explanation/papers
	$(BIN)/python -m studies.benchmarks.rerank

clean: ## remove the environment, the site and what the demo wrote
	rm -rf .venv $(DEMO) site

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adjudge needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "making .venv (once)"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.installed: .venv/.python pyproject.toml constraints.txt
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[report,studio,learn]'
	@touch $@

# Chromium for the tests of pages, PostgreSQL for those of the studio's store and Java for those of Spark: the system's,
# which only root can install. Without them these tests are skipped.
.venv/.system: .venv/.python
	@missing=""; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| missing="chromium"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	java -version >/dev/null 2>&1 || missing="$$missing default-jre-headless"; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing $$missing (once)"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	else echo "missing: $$missing; tests that need them are skipped"; fi
	@touch $@

.venv/.tools: .venv/.installed
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,report,studio,learn,lightgbm]'
	@touch $@
