# Ebb. `make help` lists the targets.
#
# One rule compiles all C; only the layers that know Lua get its headers, so
# that the others cannot come to depend on them unnoticed. A build lives in the
# folder of its MODE:
#
#   dev       build            for daily work: assertions, compiles fast
#   release   build/release    what is installed, measured and shipped
#   minimal   build/minimal    as release, without threads, mmap, dlopen and JIT
#   debug     build/debug      assertions, no optimisation
#   sanitize  build/sanitize   the same under ASan and UBSan
#   small     build/small      as sanitize, with tree nodes so small that short tests make high trees
#   threads   build/threads    with nodes as installed, under TSan
#   cover     build/cover      as small, without sanitizers, and counts what runs

MODE   = dev
PREFIX = /usr/local
LIBDIR = $(PREFIX)/lib
CC     = gcc
CFLAGS = -g

# The number in libebb.so's name: grows when programs must be compiled anew.
SO_VERSION = 0

LAYERS     = base os codec json regex tokens core dialect document state
LUA_LAYERS = sandbox bind api host

MODES = dev release minimal debug sanitize small threads cover
B     = build$(if $(filter-out dev,$(MODE)),/$(if $(filter $(MODES),$(MODE)),$(MODE),$(error MODE is one of $(MODES))))

# Reports name lines, which -g1 knows; a third of the time of compiling goes with the rest of -g.
SANITIZE       = -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Small accessors are called across files all the time: LTO takes a seventh off a load.
LTO            = -flto$(if $(findstring clang,$(CC)),,=auto)
FLAGS_dev      = -O1
# A section per function and datum: links drop what all callers inlined.
# What is shipped does not name the folder in which it was built.
OPTIMISE       = -O3
FLAGS_release  = $(OPTIMISE) $(LTO) -DNDEBUG -ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)=.
FLAGS_minimal  = $(FLAGS_release) -DEBB_MINIMAL -DEBB_NO_JIT
# Code that is made at run time reads whole words, which valgrind takes for errors.
FLAGS_debug    = -O0 -DEBB_CLOSE_STATE -DEBB_NO_JIT
FLAGS_sanitize = -O1 $(SANITIZE) -DEBB_CLOSE_STATE
SMALL_NODES    = -DSEQUENCE_FANOUT=4 -DSEQUENCE_LEAF=4 -DPREMERGE_BARRIER=300 -DEBB_COUNT_PROBES -DSANDBOX_SWITCHES
# Compiling takes longer than running the tests: a fifth of it goes with -O1.
FLAGS_small    = -O0 $(SANITIZE) -DEBB_CLOSE_STATE $(SMALL_NODES)
FLAGS_threads  = -O1 -g1 -fsanitize=thread
# Without assertions: their other side must never be taken, so it is no branch to be covered.
# Only COUNTED layers are counted (below): each process reads and writes a file per object that is. Tests of threads
# would lose counts without atomic ones.
FLAGS_cover    = -O1 -DNDEBUG -DEBB_CLOSE_STATE $(SMALL_NODES)
COUNTED        = core json dialect document state
COUNT          = -O0 --coverage -fprofile-update=atomic

WARNINGS   = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion $(if $(WERROR),-Werror)
ALL_CFLAGS = -std=c11 -fPIC -fno-semantic-interposition -Iruntime $(WARNINGS) $(CFLAGS) $(FLAGS_$(MODE))

# SQLITE=npm links SQLite 3.53.2 in; otherwise the system's library is loaded on first use.
SQLITE_INSIDE = $(if $(filter npm,$(SQLITE)),build/sqlite/sqlite3.o)
SQLITE_FLAGS  = $(if $(SQLITE_INSIDE),-DEBB_SQLITE_INSIDE -isystem build/sqlite)

# A build says what it makes; V=1 shows the whole commands.
Q   = $(if $(V),,@)
SAY = @$(if $(V),:,printf '  %-6s %s\n')

# Linking PCRE2 costs 0.1 ms of every start; loading it on first use is not worth its code.
LIBS = -lpcre2-8

# Asked for on first use and then kept, so that nothing needs Lua before `make deps` has brought it.
PQ_CFLAGS  = $(eval PQ_CFLAGS := $$(shell pkg-config --silence-errors --cflags-only-I libpq))$(PQ_CFLAGS)
LUA_CFLAGS = $(eval LUA_CFLAGS := $$(shell pkg-config --cflags lua5.4))$(LUA_CFLAGS)
LUA_LIBDIR = $(eval LUA_LIBDIR := $$(shell pkg-config --variable=libdir lua5.4))$(LUA_LIBDIR)
# The command shows all of Lua to C modules of users, so it takes all of it.
LUA_WHOLE  = -L$(LUA_LIBDIR) -Wl,--whole-archive -l:liblua5.4.a -Wl,--no-whole-archive -l:liblua5.4-lpeg.a
LUA_INSIDE = -L$(LUA_LIBDIR) -l:liblua5.4.a -l:liblua5.4-lpeg.a
SYSTEM     = $(LIBS) -lm -ldl

objects    = $(patsubst %.c,$(B)/%.o,$(foreach layer,$(1),$(sort $(wildcard runtime/$(layer)/*.c runtime/$(layer)/*/*.c))))
CORE       = $(filter-out $(LOADER),$(call objects,$(LAYERS)))
# Sessions on disk, and libraries loaded on first use: of the command and of the module for stock Lua, not of libebb.
LOADER     = $(B)/runtime/os/posix/shared_library.o
BIND_STORE = $(patsubst %,$(B)/runtime/bind/%.o,storage storage_handle storage_read storage_tail)
STORAGE    = $(call objects,storage) $(BIND_STORE) $(LOADER) $(SQLITE_INSIDE)
BINDING    = $(filter-out $(BIND_STORE),$(call objects,sandbox bind))
API        = $(filter-out %/stdio.o,$(call objects,api))
HOST       = $(API) $(call objects,host)
LUA_FILES  = $(sort $(shell find lua/ebb -name '*.lua' ! -path '*/meta/*'))
LIBRARY    = $(LUA_FILES:%=$(B)/%)
PRODUCTS   = $(B)/ebb $(B)/lua/ebb/core.so $(LIBRARY) $(B)/libebb.a $(B)/libebb.so
TESTS      = $(patsubst tests/c/%.c,$(B)/tests/%,$(sort $(wildcard tests/c/test_*.c)))
FUZZ_CC    = clang -std=c11 -g1 -O1 -Iruntime -fsanitize=address,undefined -fno-sanitize-recover=undefined $(SMALL_NODES)
fuzz_objects = $(patsubst $(B)/%,build/fuzz/%,$(1))
FUZZERS    = $(patsubst tests/fuzz/%.c,build/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
C_FILES    = $(sort $(shell find runtime tests/c tests/embed tests/faults tests/fuzz tests/random scripts/hosts -name '*.c'))

DEPS_run  = gcc libc6-dev make pkg-config lua5.4 liblua5.4-dev lua-lpeg-dev lua-argparse libedit-dev libpcre2-dev libsqlite3-dev libpq-dev
DEPS_test = libcmocka-dev lua-busted libcurl4-openssl-dev procps
DEPS_lint = $(DEPS_test) lua-check clang git
DEPS_fuzz = $(DEPS_test) clang libclang-rt-14-dev/libclang-rt-19-dev
DEPS_valgrind = $(DEPS_test) valgrind

# Sub-makes build in parallel, within the job server of a `make -j` if there is one.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

all: products   ## build the command, the Lua module and its library, and libebb for daily work into build/; SQLITE=npm links SQLite 3.53.2 in, fetched with npm
	@.ci/vocab --missing

products: $(PRODUCTS)

release:   ## the same, optimised, into build/release
	+@$(SUBMAKE) MODE=release all

# All modes use the images in build/share/ebb/vocab.
vocabularies: $(B)/ebb   ## fetch the vocabularies of exact counts with npm, and convert them
	@.ci/vocab $(B)/ebb

run: deps   ## trim the sample conversation to 4000 tokens and show what was kept and why
	+@$(SUBMAKE) MODE=release products vocabularies
	build/release/ebb trim scripts/samples/support.json --budget 4000 --explain -o build/support.trimmed.json

test: test-build   ## build and run all tests; ends with "N passed, N failed"
	@tests/run.sh

test-quick: deps-test   ## most Lua specs and C units, in under two minutes; T=trim runs those with trim in their name, UNITS=no only specs
	+@$(SUBMAKE) products vocabularies build/faults/postgres_proxy build/faults/wal_passive build/bench/tokens_portable $(if $(filter no,$(UNITS)),,build/tests/test_api_growth)
	$(if $(filter no,$(UNITS)),,+@$(SUBMAKE) MODE=small test-programs)
	@UNITS=$(UNITS) tests/run.sh --quick $(T)

test-build: deps-test
	+@$(SUBMAKE) products vocabularies build/faults/io_shim.so build/faults/sqlite_disk.so build/faults/sqlite_memory.so build/faults/postgres_proxy build/faults/wal_passive build/bench/tokens_portable build/tests/test_api_growth build/tests/test_sequence build/tests/test_model
	+@$(SUBMAKE) MODE=release products
	+@$(SUBMAKE) MODE=minimal LTO= OPTIMISE=-O0 build/minimal/libebb.a
	+@$(SUBMAKE) MODE=small test-programs build/small/ebb
	+@$(SUBMAKE) MODE=threads build/threads/tests/test_api_threads build/threads/tests/test_sandbox_threads \
	  build/threads/tests/test_storage_threads build/threads/tests/test_api_host

check-hard: test-build deps-fuzz deps-valgrind   ## longer: all sweeps whole but the binding's (one step in four), model tests with 1,000,000 steps, the command under sanitizers, a fifth of the Lua tests under valgrind, token ids against their oracles, a minute per fuzzer, up to twenty for the sandbox's, and random small changes that tests must notice
	+@$(SUBMAKE) MODE=debug products
	+@$(SUBMAKE) MODE=sanitize products build/sanitize/bench/tokens
	+@if tests/fuzz/can.sh; then $(SUBMAKE) fuzzers; fi
	WHOLE=1 CONVERSATIONS=$(or $(CONVERSATIONS),10000) DENSER=$(or $(DENSER),5) STEPS=$(or $(STEPS),1000000) CALLS=$(or $(CALLS),300000) MUTATIONS=$(or $(MUTATIONS),100000) KILLS=$(or $(KILLS),200) LIVES=$(or $(LIVES),50) TURNS=$(or $(TURNS),200000) HISTORIES=$(or $(HISTORIES),50000) PIPELINES=$(or $(PIPELINES),10000) POLICIES=$(or $(POLICIES),2000) EBB=build/sanitize/ebb tests/run.sh
	lua5.4 tests/mutate.lua $(or $(MUTANTS),100)

fuzz: deps-fuzz   ## run every tests/fuzz/fuzz_*.c on as many inputs as take a minute of a processor; FUZZ_SHARE (100) percent of them
	+@$(SUBMAKE) products fuzzers
	@tests/fuzz/run.sh $${FUZZ_SHARE:-100}

valgrind: deps-valgrind   ## the Lua tests under valgrind
	+@$(SUBMAKE) build/bench/tokens_portable
	+@$(SUBMAKE) MODE=debug products
	@tests/valgrind.sh

mutate: deps-test   ## make MUTANTS (100) random small changes in Lua and C, one at a time, and count those that the nearest tests notice
	+@$(SUBMAKE) products vocabularies
	lua5.4 tests/mutate.lua $(or $(MUTANTS),100)

cover: deps-test   ## lines and branches of runtime/core, json, dialect, document and state that tests reach; tests/uncovered.txt says what not, and why
	+@$(SUBMAKE) build/faults/postgres_proxy build/faults/wal_passive build/bench/tokens_portable
	+@$(SUBMAKE) CC=gcc MODE=cover products vocabularies test-programs
	@tests/cover.sh

bench: deps   ## measure the release build, beside the peers
	+@$(SUBMAKE) MODE=release products vocabularies $(addprefix build/release/bench/,operations tokens patterns turns crowd)
	tests/bench/end_to_end.sh
	tests/bench/embedding.sh
	tests/bench/operations.sh
	tests/bench/shrink.sh
	for name in policies turns rules pipeline macros sandbox windows convert each session_tail; do lua5.4 tests/bench/$$name.lua || exit 1; done
	tests/bench/pipeline.sh
	tests/bench/sessions.sh
	tests/bench/tokens.sh
	tests/bench/vocabularies.sh
	build/release/bench/patterns
	build/release/bench/turns
	build/release/bench/crowd
	FRAMES=10000 tests/golden/game.sh
	tests/bench/replays.sh
	lua5.4 tests/bench/hostile.lua

findings:   ## run findings/*.sh, which show what libraries write on disk that readers do not expect; npm fetches the libraries
	@status=0; for script in findings/*.sh; do \
	  echo "== $$script"; sh $$script || status=1; \
	done; exit $$status

lint: deps-lint   ## warnings of gcc and clang as errors, luacheck, layers, circles of files, plain words
	@for cc in gcc clang; do \
	  printf '%s\n' $(C_FILES) | xargs -n 8 -P "$$(nproc)" $$cc -fsyntax-only -std=c11 -Iruntime -Iruntime/include -Itests/c $(WARNINGS) -Werror $(LUA_CFLAGS) $(PQ_CFLAGS) || exit 1; \
	done
	luacheck --quiet lua tests scripts runtime/host
	lua5.4 tests/lint_layers.lua
	lua5.4 tests/lint_circles.lua
	lua5.4 tests/lint_words.lua

docs: $(B)/ebb   ## write docs/reference, the man page, shell completions and the rockspec's modules from the sources
	@EBB=$(B)/ebb $(B)/ebb run scripts/tools/reference.lua </dev/null
	@lua5.4 scripts/tools/rockspec.lua

install:   ## build the release and copy command, Lua library, libebb, vocabularies, annotations, documents, man page, completions and examples below PREFIX (/usr/local); libraries go to LIBDIR; DESTDIR is honoured
	+@$(SUBMAKE) MODE=release products vocabularies
	@$(MAKE) --no-print-directory MODE=release install-files

# Where files are put: `make install` of a package writes below DESTDIR.
TO     = $(DESTDIR)$(PREFIX)
TO_LIB = $(DESTDIR)$(LIBDIR)
TO_DOC = $(TO)/share/doc/ebb
TO_MAN = $(TO)/share/man/man1
TO_BASH = $(TO)/share/bash-completion/completions
TO_ZSH  = $(TO)/share/zsh/site-functions
TO_FISH = $(TO)/share/fish/vendor_completions.d

install-files:
	install -D -m 755 $(B)/ebb $(TO)/bin/ebb
	install -D -m 755 $(B)/lua/ebb/core.so $(TO_LIB)/lua/5.4/ebb/core.so
	for file in $(LUA_FILES:lua/%=%); do \
	  install -D -m 644 lua/$$file $(TO)/share/lua/5.4/$$file || exit 1; \
	done
	for image in build/share/ebb/vocab/*.vocab; do \
	  test ! -f $$image || install -D -m 644 $$image $(TO)/share/ebb/vocab/$${image##*/} || exit 1; \
	done
	install -D -m 644 -t $(TO)/include runtime/include/ebb.h runtime/include/ebb_lua.h
	install -D -m 644 $(B)/libebb.a $(TO_LIB)/libebb.a
	install -D -m 755 $(B)/libebb.so $(TO_LIB)/libebb.so.$(SO_VERSION)
	ln -sf libebb.so.$(SO_VERSION) $(TO_LIB)/libebb.so
	strip --strip-unneeded $(TO)/bin/ebb $(TO_LIB)/lua/5.4/ebb/core.so $(TO_LIB)/libebb.so.$(SO_VERSION) $(TO_LIB)/libebb.a
	install -d $(TO_LIB)/pkgconfig
	$(call package_file,-L$${libdir} -lebb,Libs.private: $(SYSTEM) -lpthread) > $(TO_LIB)/pkgconfig/ebb.pc
	$(call package_file,$${libdir}/libebb.a $(SYSTEM) -lpthread) > $(TO_LIB)/pkgconfig/ebb-static.pc
	@$(MAKE) --no-print-directory MODE=$(MODE) install-documents
	install -D -m 644 docs/man/ebb.1 $(TO_MAN)/ebb.1
	install -D -m 644 docs/completions/ebb.bash $(TO_BASH)/ebb
	install -D -m 644 docs/completions/_ebb $(TO_ZSH)/_ebb
	install -D -m 644 docs/completions/ebb.fish $(TO_FISH)/ebb.fish

# The links `scripts` and `lua/ebb/meta` make commands and links in the documents lead to what is installed; a link
# to a source, which is not, becomes its text.
install-documents:
	install -D -m 644 -t $(TO)/share/ebb/lua lua/ebb/meta/*.lua
	install -D -m 644 -t $(TO_DOC) LICENSE README.md CHANGELOG.md CONTRIBUTING.md
	for file in $(DOCS); do \
	  install -D -m 644 $$file $(TO_DOC)/$$file || exit 1; \
	done
	sed -i 's|\[\([^]]*\)\]([./]*/runtime/[^)]*)|\1|g' $(TO_DOC)/docs/*/*.md
	for file in $(EXAMPLES:scripts/%=%); do \
	  install -D -m 644 scripts/$$file $(TO_DOC)/examples/$$file || exit 1; \
	done
	ln -sfn examples $(TO_DOC)/scripts
	install -d $(TO_DOC)/lua/ebb
	ln -sfn ../../../../ebb/lua $(TO_DOC)/lua/ebb/meta

EXAMPLES = $(sort $(shell find scripts -type f ! -path 'scripts/tools/*'))
DOCS     = $(sort $(shell find docs -type f))

# Prints what pkg-config knows of the library: $(1) is how programs link it. A moved PREFIX stays right.
VERSION      = $$(sed -n 's/.*EBB_VERSION "\(.*\)"/\1/p' runtime/bind/open.h)
package_file = @printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' \
  'libdir=$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))' '' \
  'Name: ebb' 'Description: conversations with language models, and what the model sees of them' \
  "Version: $(VERSION)" 'Cflags: -I$${includedir}' 'Libs: $(1)' $(if $(2),'$(2)')

uninstall:   ## remove what install copied
	rm -f $(TO)/bin/ebb $(TO)/include/ebb.h $(TO)/include/ebb_lua.h
	rm -f $(TO_MAN)/ebb.1 $(TO_BASH)/ebb $(TO_ZSH)/_ebb $(TO_FISH)/ebb.fish
	rm -rf $(TO_LIB)/lua/5.4/ebb $(TO)/share/lua/5.4/ebb $(TO_DOC) $(TO)/share/ebb/lua
	rm -f $(TO_LIB)/pkgconfig/ebb.pc $(TO_LIB)/pkgconfig/ebb-static.pc
	rm -f $(TO_LIB)/libebb.a $(TO_LIB)/libebb.so $(TO_LIB)/libebb.so.$(SO_VERSION)
	for image in cl100k_base o200k_base $(basename $(notdir $(wildcard build/share/ebb/vocab/*.vocab))); do \
	  rm -f $(TO)/share/ebb/vocab/$$image.vocab; \
	done
	for folder in share/ebb/vocab share/ebb; do \
	  test ! -d $(TO)/$$folder || rmdir --ignore-fail-on-non-empty $(TO)/$$folder; \
	done

clean:   ## remove build/
	rm -rf build

deps:   ## install the Debian packages that building needs, where they are missing
	@.ci/deps $(DEPS_run)

deps-test deps-lint deps-fuzz deps-valgrind: deps-%:   ## the same for testing, lint, fuzzing, valgrind
	@.ci/deps $(DEPS_run) $(DEPS_$*)

help:   ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | while IFS='|' read -r name text; do \
	  printf '  make %-12s %s\n' $$name "$$text"; \
	done

# ---- what is built ----

# Objects depend on the command that compiles them, not on this file, so that a comment here rebuilds nothing.
build/fuzz/flags: private FLAGS = $(FUZZ_CC) $(LUA_CFLAGS)
%/flags: private FLAGS = $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(LUA_CFLAGS) $(PQ_CFLAGS) $(if $(filter cover,$(MODE)),$(COUNT))
%/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@

FORCE:

# All that the four products share, as one object: whole-program optimisation runs once, not once in each.
# The layers around it are compiled without, they do not run often.
NO_LTO_OUT = $(if $(findstring -flto,$(FLAGS_$(MODE))),$(if $(findstring clang,$(CC)),-fuse-ld=lld,-flinker-output=nolto-rel))
$(HOST) $(STORAGE) $(B)/runtime/api/stdio.o $(B)/embedded.o $(B)/embedded_api.o: private LTO =

# The names of all sources. When a file is moved or removed, products are linked and
# embedded again, and its copy no longer hides the module that took its place.
$(B)/sources: FORCE
	@mkdir -p $(@D)
	@echo $(sort $(CORE) $(BINDING) $(STORAGE) $(HOST)) $(LUA_FILES) > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; \
	  rm -f $(filter-out $(LIBRARY),$(shell find $(B)/lua/ebb -name '*.lua' 2>/dev/null)); fi

$(B)/core.o $(B)/ebb $(B)/libebb.o $(B)/libebb.so $(B)/embedded.c $(B)/embedded_api.c: $(B)/sources

$(B)/core.o: $(CORE) $(BINDING) $(B)/flags
	$(SAY) LINK $@
	$(Q)$(CC) $(CFLAGS) $(FLAGS_$(MODE)) $(NO_LTO_OUT) -r -nostdlib $(filter %.o,$^) -o $@

# A link of objects that are optimised already.
LINK     = $(CC) $(CFLAGS) $(filter-out -flto%,$(FLAGS_$(MODE))) $(if $(filter cover,$(MODE)),--coverage)
COLLECT  = $(if $(filter -ffunction-sections,$(FLAGS_$(MODE))),-Wl$(comma)--gc-sections)
comma    = ,

# Of all its symbols the module shows luaopen_ebb_core, the command Lua's own
# (for C modules that a user's script requires).
EXPORTS = -Wl,--version-script=runtime/host/exports.map

$(B)/ebb: $(B)/core.o $(STORAGE) $(HOST) $(B)/embedded.o runtime/host/exports.map
	$(SAY) LINK $@
	$(Q)$(LINK) -Wl,-E $(COLLECT) $(EXPORTS) $(filter %.o,$^) $(LDFLAGS) $(LUA_WHOLE) $(SYSTEM) -o $@

$(B)/lua/ebb/core.so: $(B)/core.o $(STORAGE) runtime/host/exports.map
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(LINK) -shared $(COLLECT) $(EXPORTS) $(filter %.o,$^) $(LDFLAGS) $(LIBS) -o $@

# libebb: all of it and Lua's in one object, of whose symbols only ebb_* are seen.
# Debian's static Lua is not position-independent; runtime/api/stdio.c says how it
# gets into a shared library all the same.
EMBEDDABLE = $(B)/core.o $(API) $(B)/embedded_api.o

$(B)/libebb.o: $(EMBEDDABLE)
	$(SAY) LINK $@
	$(Q)$(LINK) -r -nostdlib $(filter %.o,$^) $(LUA_INSIDE) -o $@.new
	$(Q)objcopy --wildcard --keep-global-symbol='ebb_*' $@.new $@ && rm $@.new

$(B)/libebb.a: $(B)/libebb.o
	$(SAY) AR $@
	$(Q)rm -f $@ && ar rcs $@ $<

$(B)/libebb.so: $(EMBEDDABLE) $(B)/runtime/api/stdio.o runtime/api/exports.map
	$(SAY) LINK $@
	$(Q)$(LINK) -shared $(COLLECT) -Wl,-soname,libebb.so.$(SO_VERSION) -Wl,--exclude-libs,ALL \
	  -Wl,--version-script=runtime/api/exports.map -Wl,--wrap=stdin,--wrap=stdout,--wrap=stderr \
	  $(filter %.o,$^) $(LDFLAGS) $(LUA_INSIDE) $(SYSTEM) -o $@
	$(Q)ln -sf $(@F) $@.$(SO_VERSION)

$(LIBRARY): $(B)/lua/%: lua/%
	@mkdir -p $(@D)
	@cp $< $@

# What is compiled in: for the command all; libebb lacks folders that its functions cannot reach (tests/lint_layers.lua).
COMMAND_ONLY = cli import provider session workflow
$(B)/embedded.c: EMBEDDED = $(LUA_FILES) argparse
$(B)/embedded_api.c: STRIP = --strip
$(B)/embedded_api.c: EMBEDDED = $(filter-out $(COMMAND_ONLY:%=lua/ebb/%/%),$(LUA_FILES))
$(B)/embedded.c $(B)/embedded_api.c: runtime/api/embed.lua $(LUA_FILES)
	@mkdir -p $(@D)
	$(SAY) EMBED $@
	$(Q)lua5.4 runtime/api/embed.lua $(STRIP) lua/ $(EMBEDDED) > $@.new && mv $@.new $@

$(B)/embedded.o $(B)/embedded_api.o: $(B)/%.o: $(B)/%.c $(B)/flags
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

LUA_SEEN = $(foreach layer,$(LUA_LAYERS),$(B)/runtime/$(layer)/%.o) $(B)/tests/test_bind%.o $(B)/tests/test_sandbox%.o $(B)/tests/test_api%.o $(B)/bench/patterns.o
$(B)/tests/test_storage%.o: private ALL_CFLAGS += $(PQ_CFLAGS)
$(LUA_SEEN): private ALL_CFLAGS += $(LUA_CFLAGS)
$(foreach layer,$(COUNTED),$(B)/runtime/$(layer)/%.o): private ALL_CFLAGS += $(if $(filter cover,$(MODE)),$(COUNT))
$(STORAGE): private ALL_CFLAGS += $(PQ_CFLAGS) $(SQLITE_FLAGS)

build/sqlite/sqlite3.c:
	@.ci/sqlite

build/sqlite/sqlite3.o: build/sqlite/sqlite3.c
	$(SAY) CC $@
	$(Q)$(CC) -O2 -g -fPIC -w -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -c $< -o $@

# For tests of the build that loads its library: LD_LIBRARY_PATH=build/sqlite.
build/sqlite/libsqlite3.so.0: build/sqlite/sqlite3.o
	$(SAY) LINK $@
	$(Q)$(CC) -shared -Wl,-soname,libsqlite3.so.0 $< -lm -o $@

# The list of sources says which SQLite it is.
$(call objects,storage): $(B)/sources | $(SQLITE_INSIDE)

$(B)/runtime/%.o: runtime/%.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# ---- tests ----

# With T only the programs with T in their name: `make test-quick T=trim` links no other.
test-programs: $(if $(T),$(foreach test,$(TESTS),$(if $(findstring $(T),$(test)),$(test))),$(TESTS))

# Of the archive a test links what it uses, so that one that touches no Lua has none.
$(B)/objects.a: $(CORE) $(BINDING) $(STORAGE) $(API)
	$(SAY) AR $@
	$(Q)rm -f $@ && ar rcsT $@ $^

$(B)/tests/%.o: tests/c/%.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Itests/c -c $< -o $@

$(filter $(B)/tests/test_api%,$(TESTS)): $(B)/embedded_api.o
$(filter $(B)/tests/test_confine%,$(TESTS)): $(B)/runtime/host/confine.o $(B)/runtime/host/confine_calls.o
$(B)/tests/test_file_write: $(B)/runtime/host/ending.o
$(TESTS): $(B)/tests/%: $(B)/tests/%.o $(B)/objects.a
	$(SAY) LINK $@
	$(Q)$(LINK) $(filter %.o,$^) $(B)/objects.a $(LDFLAGS) -lcmocka $(LUA_INSIDE) $(SYSTEM) -o $@

$(B)/faults/%.so: tests/faults/%.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) -std=c11 -fPIC -shared $(WARNINGS) $(CFLAGS) $(LUA_CFLAGS) $< -o $@

$(B)/faults/%: tests/faults/%.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) -std=c11 $(WARNINGS) $(CFLAGS) $< -o $@

$(B)/bench/%.o: tests/bench/%.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LUA_CFLAGS) -MMD -MP -c $< -o $@

$(B)/bench/%: $(B)/bench/%.o $(B)/core.o
	$(SAY) LINK $@
	$(Q)$(LINK) $(filter %.o,$^) $(LDFLAGS) $(LUA_INSIDE) $(SYSTEM) -o $@

# Hosts of the C API.
$(B)/bench/turns $(B)/bench/crowd: $(B)/bench/%: $(B)/bench/%.o $(B)/libebb.a
	$(SAY) LINK $@
	$(Q)$(LINK) $^ $(LDFLAGS) $(SYSTEM) -o $@

# The same for a processor without the wider instructions.
build/bench/tokens_portable: tests/bench/tokens.c $(foreach layer,base os codec regex json tokens,$(wildcard runtime/$(layer)/*.[ch] runtime/$(layer)/*/*.[ch]))
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) -std=c11 -Iruntime $(WARNINGS) -O2 -g -DEBB_PORTABLE $(filter %.c,$^) $(LIBS) -o $@

fuzzers: $(FUZZERS)

# Fuzzers have a build of their own, for their coverage; lua_fuzz.h meets the core through Lua, fuzz_saved.c
# through libebb.
build/fuzz/runtime/%.o: runtime/%.c build/fuzz/flags
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link $(if $(filter $(LUA_LAYERS),$(notdir $(<D))),$(LUA_CFLAGS)) $(if $(findstring /storage/,$<),$(PQ_CFLAGS)) -MMD -MP -c $< -o $@

build/fuzz/objects.a: $(call fuzz_objects,$(CORE) $(BINDING) $(API) $(LOADER) $(call objects,storage))
	$(SAY) AR $@
	$(Q)rm -f $@ && ar rcsT $@ $^

build/fuzz/fuzz_edits: FUZZ_LIBRARIES = -lcmocka
build/fuzz/fuzz_agents build/fuzz/fuzz_imports build/fuzz/fuzz_windows: FUZZ_LIBRARIES = -rdynamic      # for LPeg, a module
build/fuzz/fuzz_saved: build/embedded_api.o

build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c build/fuzz/objects.a build/fuzz/flags
	$(SAY) LINK $@
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $(LUA_CFLAGS) -Itests/c -MMD -MP $(filter %.c %.o %.a,$^) $(FUZZ_LIBRARIES) $(LUA_INSIDE) $(SYSTEM) -o $@

.SECONDARY:

-include $(shell find build/fuzz $(B) -name '*.d' 2>/dev/null)

.PHONY: all products release vocabularies run test test-quick test-build check-hard fuzz valgrind mutate cover bench findings lint docs install install-files install-documents uninstall clean deps deps-test deps-lint deps-fuzz deps-valgrind help test-programs fuzzers FORCE
.DELETE_ON_ERROR:
