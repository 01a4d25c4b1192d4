# Everything happens in an environment of its own, made on first use. `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin
DEMO := demo
SITE = NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
.DEFAULT_GOAL := help
.PHONY: help demo test check format bench studies honesty docs clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

demo: .venv/.installed ## run the main steps on included data
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@echo "The anaesthetists of Dawid and Skene (1979): five judges, one of whom judged three times; no true labels are known."
	@$(BIN)/adjudge datasets anesthesia --out $(DEMO)/anesthesia.csv
	@$(BIN)/adjudge fit $(DEMO)/anesthesia.csv --out $(DEMO)/anesthesia --rows 5
	@echo
	@echo "A simulated crowd of relevance judges; the most active are spammers, and one item in ten has a gold label."
	@$(BIN)/adjudge simulate carpenter --size topics=10 --size items=600 --size judges=40 --size judgments=4000 --size gold=60 --seed 7 --out $(DEMO)/crowd
	@$(BIN)/adjudge fit $(DEMO)/crowd/labels.csv --gold $(DEMO)/crowd/gold.csv --out $(DEMO)/fit --rows 5
	@echo
	@$(BIN)/adjudge score $(DEMO)/fit $(DEMO)/crowd/truth.csv
	@echo
	@echo "For comparison, the same crowd by majority vote:"
	@$(BIN)/adjudge fit $(DEMO)/crowd/labels.csv --model majority --format csv > $(DEMO)/vote.csv
	@$(BIN)/adjudge score $(DEMO)/vote.csv $(DEMO)/crowd/truth.csv
	@echo
	@echo "The judges, and a report:"
	@$(BIN)/adjudge judges $(DEMO)/fit --sort judgments --rows 3
	@$(BIN)/adjudge report $(DEMO)/fit --truth $(DEMO)/crowd/truth.csv --out $(DEMO)/report.html
	@echo
	@echo "Files: $(DEMO)/report.html, $(DEMO)/fit/labels.csv, $(DEMO)/fit/judges.csv, $(DEMO)/crowd/labels.csv, $(DEMO)/crowd/truth.csv"
	@echo "To collect judgments in a browser, run: $(BIN)/adjudge serve --demo"

test: .venv/.tools .venv/.system ## run all tests
	$(BIN)/pytest -n 2

check: .venv/.tools ## format, lint, types, import contracts, generated pages, documentation site
	$(BIN)/ruff format --check src tests studies docs
	$(BIN)/ruff check src tests studies docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest tests/test_imports.py
	$(BIN)/python docs/generate.py --check
	$(SITE) --quiet

format: .venv/.tools ## format the code
	$(BIN)/ruff format src tests studies docs
	$(BIN)/ruff check --fix src tests studies docs

docs: .venv/.tools ## write the generated pages, and build the documentation site into site/
	$(BIN)/python docs/generate.py
	$(SITE)

bench: .venv/.tools ## run the benchmarks, and write docs/explanation/measured/
	$(BIN)/python -m studies.benchmarks.run

studies: .venv/.tools ## run the experiments of the papers, and write docs/explanation/papers/
	$(BIN)/python -m studies.benchmarks.papers
	$(BIN)/python -m studies.pages docs/explanation/papers
	$(BIN)/python -m studies.benchmarks.rerank

honesty: .venv/.tools ## learn the weights of the consensus from the shared sets, and write docs/explanation/measured/honesty.md
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt cleanlab
	$(BIN)/python -m studies.honesty_page --write

clean: ## remove the environment, the site and the files of the demo
	rm -rf .venv $(DEMO) site

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adjudge needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "creating .venv (once)"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.installed: .venv/.python pyproject.toml constraints.txt
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[report,studio,learn]'
	@touch $@

# Chromium for the tests of pages, PostgreSQL for those of the studio's store, Java for those of Spark and nginx for those
# of the studio behind a proxy: the system's, which only root can install. Without them these tests are skipped.
.venv/.system: .venv/.python
	@missing=""; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| missing="chromium"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	java -version >/dev/null 2>&1 || missing="$$missing default-jre-headless"; \
	PATH="$$PATH:/usr/sbin" command -v nginx >/dev/null || missing="$$missing nginx-light"; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing $$missing (once)"; \
		export DEBIAN_FRONTEND=noninteractive; \
		for n in 1 2 3 4 5 6; do apt-get -qq update && break; sleep 10; done; \
		apt-get -qq -y -o DPkg::Lock::Timeout=900 install $$missing >/dev/null; \
	else echo "missing: $$missing; tests that need them are skipped"; fi
	@touch $@

.venv/.tools: .venv/.installed
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,report,studio,learn,lightgbm]'
	@touch $@
