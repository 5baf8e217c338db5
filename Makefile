# Callgate: plain GNU make. `make help` explains the targets; V=1 shows the commands.
#
# Every src/<building>/<room>/*.c but the two main files goes into build/<flavour>/libcallgate.a; main.c on top of it is
# build/<flavour>/callgate. gate_main.c on top of libgate.a is callgate-gate, which `callgate serve` becomes: without the
# rooms of KEPT_OUT, so that what enforces cannot be linked with them. Tests, simulations and fuzz targets are found by wildcard, so a new file needs no line here.

VERSION := 0.3.0

FLAVOUR ?= release
WERROR  ?= 0
V       ?= 0
PREFIX  ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
FUZZ_SMOKE_SECONDS ?= 3
FUZZ_TORTURE_SECONDS ?= 3600
ORACLE_AGREEMENTS ?= 60000
ORACLE_SEED ?= 1
SPELLINGS ?= 4000
DIFFERENTIAL_INPUTS ?= 20000
DIFFERENTIAL_TORTURE_INPUTS ?= 1000000

ifneq ($(filter $(FLAVOUR),release pgo debug asan tsan cover fuzz mutants way arm64),$(FLAVOUR))
$(error FLAVOUR=$(FLAVOUR) is unknown; use release, pgo, debug, asan, tsan, cover, fuzz, mutants, way or arm64)
endif

CC := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
ifeq ($(FLAVOUR),fuzz)
override CC := $(if $(findstring clang,$(CC)),$(CC),clang)
endif
AR ?= ar
ifeq ($(FLAVOUR),pgo)
AR := gcc-ar
endif
# Another processor's compiler, libraries (tools/install-deps --arm64) and emulator.
PKG_CONFIG := pkg-config
ifeq ($(FLAVOUR),arm64)
override CC := $(if $(findstring aarch64,$(CC)),$(CC),aarch64-linux-gnu-gcc)
AR := aarch64-linux-gnu-ar
PKG_CONFIG := PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig pkg-config
EMULATOR := qemu-aarch64-static
endif
B := build/$(FLAVOUR)

# All cores unless -j was given; never across `clean`, which must finish before what follows it.
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
Q := $(if $(filter 1,$(V)),,@)
say = @$(if $(filter 1,$(V)),:,echo '  $(1)  $(2)')

# ---- flags ----------------------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum -Wformat=2 -Wundef -Wvla \
            -Wwrite-strings -Wconversion -Werror=implicit-function-declaration -Werror=int-conversion
HARDEN_CC := -fstack-protector-strong -fstack-clash-protection -fPIE $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection)
HARDEN_LD := -pie -Wl,-z,relro,-z,now

# A call goes through much code, each part once, so that what the processor waits for is code: small code is faster than what -O3 makes of
# it (a sixth fewer misses of the cache for instructions), and calls into libraries need no stub.
FLAGS_small   := -O2 -fno-plt -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $(HARDEN_CC)
# GCC clears and copies a struct by an instruction that repeats itself, which begins slowly: 384 places. A compiler tuned by MARCH= does not.
UNREPEATED    := -mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign -mmemcpy-strategy=unrolled_loop:256:noalign,libcall:-1:noalign
FLAGS_release := $(FLAGS_small) $(shell $(CC) $(UNREPEATED) -E -x c /dev/null >/dev/null 2>&1 && echo '$(UNREPEATED)')
# Release, after the compiler has seen which branches ordinary calls take, and optimised across files: `make pgo` builds it twice,
# with a training between. For the processor that it is built on; MARCH=, or a name that GCC knows, where it is to run on others too.
PROFILE       := $(CURDIR)/build/profile
MARCH         ?= native
FLAGS_pgo     := $(FLAGS_small) -O3 $(MARCH:%=-march=%) -flto=auto $(if $(TRAINS),-fprofile-generate=$(PROFILE) -fprofile-update=prefer-atomic,\
                 -fprofile-use=$(PROFILE) -fprofile-partial-training -Wno-missing-profile)
FLAGS_debug   := -Og -fno-omit-frame-pointer $(HARDEN_CC)
# A sanitizer's words need lines and no more of what debuggers know, which takes as long to link as all else.
FLAGS_asan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan    := -O1 -fno-omit-frame-pointer -fsanitize=thread
FLAGS_cover   := -O0 --coverage -DCALLGATE_UNCONFINED
# clang does not say by a word of its own that addresses are watched.
FLAGS_fuzz    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -D__SANITIZE_ADDRESS__=1
# Quick to compile, and the library is a shared one: a changed object costs one link, and no test program is linked again (tools/mutants).
FLAGS_mutants := -O1 -fPIC
# Each function says that it is entered (tests/way/hooks.c hears it); at an address that is the same in each process, and none taken into another.
FLAGS_way     := -O0 -fno-pie -finstrument-functions -DCALLGATE_UNCONFINED
FLAGS_arm64   := $(FLAGS_release)
LINK_release  := $(HARDEN_LD)
# Across files GCC believes that a buffer that has just been given room may have none, and says so; the other flavours' warnings stay.
LINK_pgo      := $(HARDEN_LD) -O3 -flto=auto -Wno-stringop-overflow $(if $(TRAINS),-fprofile-generate=$(PROFILE))
LINK_debug    := $(HARDEN_LD)
LINK_way      := -no-pie
LINK_arm64    := $(HARDEN_LD)
LINK_asan     := -fsanitize=address,undefined
LINK_tsan     := -fsanitize=thread
LINK_cover    := --coverage
LINK_fuzz     := -fsanitize=address,undefined

# llhttp: where node-llhttp ships C sources (Debian 12, Ubuntu 24.04), they go into our library, compiled strict. Later it is a library of
# its own, which knows no loose build. Only src/http (and its tests) see the header: #include <llhttp.h>.
LLHTTP_SRC ?= /usr/share/llhttp
LLHTTP_INC ?= /usr/share/include/llhttp
LLHTTP_CFLAGS := -DLLHTTP_STRICT_MODE=1
ifneq ($(wildcard $(LLHTTP_SRC)/llhttp.c),)
LLHTTP_OBJ    := $(B)/obj/llhttp/llhttp.o $(B)/obj/llhttp/http.o $(B)/obj/llhttp/api.o
LLHTTP_CFLAGS += -isystem $(LLHTTP_INC)
else
LLHTTP_LIBS   := -lllhttp
endif

# Unicode's confusables, as Debian's python3-confusable-homoglyphs (or PyPI's) keeps them: they become a table while we are built.
CONFUSABLES ?= /usr/lib/python3/dist-packages/confusable_homoglyphs/confusables.json
LOOKALIKES  := build/gen/lookalike_tbl.h
ENTITIES    := build/gen/entity_tbl.h
PACKAGES := openssl libcjson sqlite3 libpcre2-8 yaml-0.1 libutf8proc libcurl libpq
# Nothing is asked of pkg-config before tools/install-deps has had its chance.
NEEDS_NO_PACKAGES := help clean deps test ci demo demo-fleet bare deb packages
ifneq ($(filter-out $(NEEDS_NO_PACKAGES),$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done) \
           $(shell for h in pg_query.h cjose/cjose.h $(if $(LLHTTP_OBJ),,llhttp.h); do echo "\#include <$$h>" | $(CC) -E - >/dev/null 2>&1 || echo $$h; done) \
           $(if $(wildcard $(CONFUSABLES)),,$(CONFUSABLES))
MISSING := $(strip $(MISSING))
ifneq ($(MISSING),)
$(error these libraries are missing: $(MISSING); run tools/install-deps)
endif
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
# cjose's file for pkg-config asks for headers of jansson, which we never see; its package for other processors has no link to link with.
# libpg_query has no such file; last, since it has functions of common names. libcurl is loaded where somebody is asked (web/library.c).
PKG_LIBS   := $(shell $(PKG_CONFIG) --libs $(filter-out libcurl libpq,$(PACKAGES))) -l:libcjose.so.0 -lpg_query
PQ_LIBS    := $(shell $(PKG_CONFIG) --libs libpq)
endif

BASE_FLAGS := -std=gnu11 -g -pthread -D_GNU_SOURCE -DCALLGATE_VERSION='"$(VERSION)"' $(FLAGS_$(FLAVOUR))
# Buildings of src/ hold rooms, and an include names a room and a file.
INCLUDES   := $(patsubst %/,-I%,$(wildcard src/*/))
COMPILE    := $(CC) $(BASE_FLAGS) $(WARNINGS) $(INCLUDES) $(PKG_CFLAGS) $(CFLAGS)
# A function of ours must not stand in for a library's of the same name (hash_bytes of libpg_query), as what a program exports does.
LINK       := $(CC) -pthread -Wl,--exclude-libs,libcallgate.a:libgate.a:libfakes.a $(LINK_$(FLAVOUR)) $(LDFLAGS)
LIBS        = $(PKG_LIBS) $(LLHTTP_LIBS) $(PQ_LIBS)
# libpq brings Kerberos and LDAP along, and reads what a server says: these are linked without it, so that a call into src/ground/pg does not link.
$(B)/callgate-gate $(B)/callgate-runner $(B)/hasty/callgate-gate $(B)/hasty/callgate-runner: private PQ_LIBS :=
# Test programs are many; where gold is there, it links them in half the time.
LINK_TEST  := $(LINK) $(if $(filter release debug asan cover mutants,$(FLAVOUR)),$(shell command -v ld.gold >/dev/null && echo -fuse-ld=gold))

# ---- what there is --------------------------------------------------------------------------------------------------

MAIN      := $(wildcard src/desk/cli/main.c)
GATE_MAIN := $(wildcard src/gate/run/gate_main.c)
RUNNER_MAIN := $(wildcard src/gate/launch/runner_main.c)
COURIER_MAIN := $(wildcard src/desk/courier/courier_main.c)
SRC       := $(filter-out $(MAIN) $(GATE_MAIN) $(RUNNER_MAIN) $(COURIER_MAIN),$(sort $(wildcard src/*/*/*.c)))
KEPT_OUT  := $(wildcard src/desk/*/*.c src/gate/pipe/*.c src/gate/launch/*.c)
# The fake audit stands in for src/audit, so it is linked where the pair is simulated and nowhere else.
FAKE_AUDIT := $(wildcard tests/fakes/fake_audit.c)
FAKES     := $(filter-out $(FAKE_AUDIT),$(sort $(wildcard tests/fakes/*.c)))
UNIT      := $(sort $(wildcard tests/unit/*/test_*.c))
SIM       := $(sort $(wildcard tests/sim/test_*.c))
TORTURE   := $(sort $(wildcard tests/torture/test_*.c))
PRELOADS  := $(patsubst tests/%.c,$(B)/tests/%.so,$(sort $(wildcard tests/torture/preload_*.c)))
FUZZ      := $(sort $(wildcard tests/fuzz/fuzz_*.c))
ORACLE    := $(sort $(wildcard tests/oracle/*.c tests/figures/*.c))

# T=json/test_canon (or json, or test_canon) narrows unit, sim, valgrind and the scenarios.
ifneq ($(T),)
UNIT := $(foreach f,$(UNIT),$(if $(findstring $(T),$(f)),$(f)))
SIM  := $(foreach f,$(SIM),$(if $(findstring $(T),$(f)),$(f)))
endif

LIB       := $(B)/libcallgate.$(if $(filter mutants,$(FLAVOUR)),so,a)
FAKES_LIB := $(if $(FAKES),$(B)/libfakes.a)
BIN       := $(if $(MAIN),$(B)/callgate)
GATE_BIN  := $(if $(GATE_MAIN),$(B)/callgate-gate)
RUNNER_BIN := $(if $(RUNNER_MAIN),$(B)/callgate-runner)
COURIER_BIN := $(if $(COURIER_MAIN),$(B)/callgate-courier)
GATE_LIB  := $(if $(filter mutants,$(FLAVOUR)),$(LIB),$(B)/libgate.a)
obj        = $(patsubst %.c,$(B)/obj/%.o,$(1))
prog       = $(patsubst tests/%.c,$(B)/tests/%,$(1))
SRC_OBJ   := $(call obj,$(SRC))
FAKES_OBJ := $(call obj,$(FAKES))
UNIT_BIN  := $(call prog,$(UNIT))
SIM_BIN   := $(call prog,$(SIM))
TORT_BIN  := $(call prog,$(TORTURE))
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ))
REPLAY_BIN := $(FUZZ_NAMES:%=$(B)/tests/fuzz/replay_%)
ORACLE_BIN := $(call prog,$(ORACLE))
BENCH_BIN  := $(call prog,$(sort $(wildcard tests/bench/bench_*.c tests/bench/fill_*.c)))
ALL_OBJ   := $(SRC_OBJ) $(call obj,$(MAIN) $(GATE_MAIN) $(RUNNER_MAIN) $(COURIER_MAIN) $(FAKES) $(FAKE_AUDIT) $(UNIT) $(SIM) $(TORTURE) $(ORACLE) $(wildcard tests/proven/proven.c tests/hasty/pause.c))
ALL_OBJ   += $(if $(FUZZ),$(call obj,$(FUZZ) tests/fuzz/replay.c))

# ---- build ----------------------------------------------------------------------------------------------------------

.PHONY: all lib programs strict help clean deps
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

all: $(LIB) $(BIN) $(GATE_BIN) $(RUNNER_BIN) $(COURIER_BIN) $(if $(filter 1,$(WERROR)),strict) $(if $(BIN),$(if $(filter release debug arm64,$(FLAVOUR)),proven))
lib: $(LIB)

# Changed flags rebuild everything: the stamp is rewritten only when its text differs.
FLAGS_TEXT := $(COMPILE) | $(LINK_TEST) | $(LIBS) | $(LLHTTP_CFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(B); printf '%s\n' $(call quoted,$(FLAGS_TEXT)) | cmp -s - $@ || printf '%s\n' $(call quoted,$(FLAGS_TEXT)) > $@
quoted = '$(subst ','\'',$(1))'
.PHONY: FORCE
FORCE:

# A compiler's words are kept beside the object, so that WERROR=1 can refuse them without compiling everything twice.
$(B)/obj/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(EXTRA) -MMD -MP -c $< -o $@ 2> $@.warn; status=$$?; cat $@.warn >&2; exit $$status

$(B)/obj/src/ground/http/%.o $(B)/obj/tests/unit/http/%.o $(B)/obj/tests/fuzz/fuzz_framing.o: EXTRA += $(LLHTTP_CFLAGS)
# cmocka 2 has other names for what cmocka 1 knows.
$(B)/obj/tests/%.o: EXTRA += -Itests -Wno-deprecated-declarations
# Most of what a test program does is done in the library, and to optimise the rest takes longer than it runs.
$(B)/obj/tests/unit/%.o $(B)/obj/tests/sim/%.o $(B)/obj/tests/torture/%.o: EXTRA += $(if $(filter release asan fuzz,$(FLAVOUR)),-O0 -U_FORTIFY_SOURCE)

$(B)/obj/src/ground/unicode/lookalike.o $(B)/obj/tests/unit/unicode/test_lookalike.o: $(LOOKALIKES)
$(B)/obj/src/ground/unicode/lookalike.o $(B)/obj/tests/unit/unicode/test_lookalike.o: EXTRA += -I$(dir $(LOOKALIKES))
# Whole or not at all: another flavour may be built at the same time.
$(LOOKALIKES): tools/make-lookalikes $(CONFUSABLES)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D); tools/make-lookalikes $(CONFUSABLES) > $@.$$$$ && mv $@.$$$$ $@
$(B)/obj/src/policy/texts/decode_text.o $(B)/obj/tests/unit/judgement/test_decode.o: $(ENTITIES)
$(B)/obj/src/policy/texts/decode_text.o $(B)/obj/tests/unit/judgement/test_decode.o: EXTRA += -I$(dir $(ENTITIES))
$(ENTITIES): tools/make-entities
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D); tools/make-entities > $@.$$$$ && mv $@.$$$$ $@

# Texts that are taken in (base/take_in.h) are not among the dependencies that the compiler writes down, and names that only the
# assembler knows are lost where files are optimised together.
$(B)/obj/src/desk/cli/text_detectors.o $(B)/obj/src/record/rows/schema.o $(B)/obj/src/policy/words/public.o \
  $(B)/obj/src/gate/store/store_open.o $(B)/obj/src/desk/console/texts.o $(B)/obj/src/desk/enrol/enrol.o: EXTRA += -fno-lto
$(B)/obj/src/desk/console/texts.o: $(filter-out %.c %.h %.md,$(wildcard src/desk/console/*))
$(B)/obj/src/policy/words/public.o: policies/words/public.yaml
$(B)/obj/src/desk/cli/text_detectors.o: policies/detectors/text.yaml
$(B)/obj/src/record/rows/schema.o: schema/audit.sql schema/indices.sql
$(B)/obj/src/gate/store/store_open.o: schema/store.sql
$(B)/obj/src/desk/enrol/enrol.o: schema/fleet.sql

$(B)/obj/llhttp/%.o: $(LLHTTP_SRC)/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_FLAGS) $(LLHTTP_CFLAGS) $(CFLAGS) -w -MMD -MP -c $< -o $@

$(LIB): $(SRC_OBJ) $(LLHTTP_OBJ)
$(B)/libgate.a: $(call obj,$(filter-out $(KEPT_OUT),$(SRC))) $(LLHTTP_OBJ)
$(B)/libgate.a: THIN := T
$(FAKES_LIB): $(FAKES_OBJ)
$(B)/%.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D); rm -f $@; $(AR) rcs$(THIN) $@ $^
$(B)/libcallgate.so:
	$(call say,LD,$@)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) $^ $(LIBS) -o $@

$(B)/callgate: $(B)/obj/src/desk/cli/main.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS) -o $@

# The map says which files the linker took, by their paths, since libgate.a only names them (`make linked` reads it).
$(B)/callgate-gate: $(B)/obj/src/gate/run/gate_main.o $(GATE_LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) -Wl,-Map=$@.map $^ $(LIBS) -o $@

$(B)/callgate-runner: $(B)/obj/src/gate/launch/runner_main.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(B)/callgate-courier: $(B)/obj/src/desk/courier/courier_main.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(LINK) $^ $(LIBS) -o $@

# The same programs with short pauses, for scenarios: the linker takes their pause_us from here, and that of the library no more. So
# do unit tests.
HASTE := $(B)/obj/tests/hasty/pause.o
HASTY := $(B)/hasty/callgate $(B)/hasty/callgate-gate $(B)/hasty/callgate-runner $(B)/hasty/callgate-courier
$(HASTY): $(HASTE)
$(B)/hasty/callgate: $(B)/obj/src/desk/cli/main.o $(LIB)
$(B)/hasty/callgate-gate: $(B)/obj/src/gate/run/gate_main.o $(GATE_LIB)
$(B)/hasty/callgate-runner: $(B)/obj/src/gate/launch/runner_main.o $(LIB)
$(B)/hasty/callgate-courier: $(B)/obj/src/desk/courier/courier_main.o $(LIB)
$(HASTY):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(LINK) $(filter %.o,$^) $(filter %.a %.so,$^) $(LIBS) -o $@

$(B)/tests/unit/% $(B)/tests/sim/% $(B)/tests/torture/%: TEST_LIBS := -lcmocka
$(UNIT_BIN) $(SIM_BIN) $(TORT_BIN): $(B)/tests/%: $(B)/obj/tests/%.o $(HASTE) $(FAKES_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(LINK_TEST) $(filter %.o,$^) $(filter %.a %.so,$^) $(TEST_LIBS) $(LIBS) -o $@
$(SIM_BIN): $(FAKE_AUDIT:%.c=$(B)/obj/%.o)

$(REPLAY_BIN): $(B)/tests/fuzz/replay_%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(FAKES_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(LINK_TEST) $^ $(LIBS) -o $@

$(B)/tests/fuzz/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.o $(FAKES_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(LINK) -fsanitize=fuzzer $^ $(LIBS) -o $@

# Loaded into the program under test, which they are no part of.
HOOKS := $(B)/tests/way/hooks.so
$(PRELOADS) $(HOOKS): $(B)/tests/%.so: tests/%.c $(B)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -fPIC -shared $(WARNINGS) $< -o $@

$(B)/tests/bench/%: $(B)/obj/tests/bench/%.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(LINK) $^ $(LIBS) -o $@

# What the libraries that are here read must be what those read that were tried: asked at each build, since they change under a build.
PROVEN := $(B)/tests/proven/proven
.PHONY: proven
proven: $(PROVEN)
	@$(EMULATOR) $(PROVEN) tests/proven/cases || { echo "make: what was built reads otherwise than what was tried, and is no callgate" >&2; exit 1; }

$(ORACLE_BIN) $(PROVEN): $(B)/tests/%: $(B)/obj/tests/%.o $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D); $(LINK) $^ $(LIBS) -o $@

programs: all $(UNIT_BIN) $(SIM_BIN) $(REPLAY_BIN)

strict: $(ALL_OBJ)
	@bad=0; for w in $(ALL_OBJ:=.warn); do if [ -s $$w ]; then cat $$w >&2; bad=1; fi; done; \
	if [ $$bad = 1 ]; then echo "warnings are errors with WERROR=1; mend the lines above" >&2; exit 1; fi

-include $(ALL_OBJ:.o=.d)

# ---- checks and tests -----------------------------------------------------------------------------------------------

RUN_TESTS     := CALLGATE_FLAVOUR=$(FLAVOUR) $(EMULATOR:%=CALLGATE_EMULATOR=%) tools/run-tests
RUN_SCENARIOS := CALLGATE="$(CURDIR)/$(B)/callgate" tools/run-scenarios
export T

.PHONY: unit sim fuzz-replay oracle differential fuzz integration interop scenarios torture valgrind asan asan-units scenarios-asan-units ubsan tsan
.PHONY: cover check test demo demo-fleet pgo bench
.PHONY: floors linked headers lint promises drawings musl arm64 way hooks

unit: all $(UNIT_BIN)
	@$(RUN_TESTS) unit $(UNIT_BIN)

sim: all $(SIM_BIN)
	@$(RUN_TESTS) sim $(SIM_BIN)

fuzz-replay: all $(REPLAY_BIN)
	@$(RUN_TESTS) fuzz-replay $(REPLAY_BIN)

# Four that know nothing of each other; all but the first are one process each.
ORACLES := $(addprefix oracle-,answers properties spellings verdicts)
.PHONY: $(ORACLES)
oracle: $(ORACLES)
$(ORACLES): all $(ORACLE_BIN)
oracle-verdicts:
	@tests/oracle/run $(B)/tests/oracle/judge --agreements $(ORACLE_AGREEMENTS) --seed $(ORACLE_SEED)
oracle-answers:
	@tests/oracle/answers $(B)/tests/oracle/judge --agreements $(shell expr $(ORACLE_AGREEMENTS) / 5) --seed $(ORACLE_SEED)
oracle-properties:
	@tests/oracle/properties $(B)/tests/oracle/judge --seed $(ORACLE_SEED)
oracle-spellings:
	@tests/oracle/spellings $(B)/tests/oracle/judge --spellings $(SPELLINGS) --seed $(ORACLE_SEED)

differential: all $(ORACLE_BIN)
	@tests/oracle/differential $(B)/tests/oracle/reader --inputs $(DIFFERENTIAL_INPUTS) --seed $(ORACLE_SEED)

integration: all $(HASTY) $(filter $(B)/tests/figures/%,$(ORACLE_BIN)) $(B)/tests/torture/preload_clock.so
	@$(RUN_SCENARIOS) tests/integration

interop: all $(HASTY)
	@$(RUN_SCENARIOS) tests/interop

# Both, the ones beside the others: they wait most of the time.
scenarios: all $(HASTY) $(filter $(B)/tests/figures/%,$(ORACLE_BIN)) $(B)/tests/torture/preload_clock.so
	@$(RUN_SCENARIOS) tests/integration tests/interop

torture: all $(TORT_BIN) $(PRELOADS)
	@$(if $(TORT_BIN),$(RUN_TESTS) torture $(TORT_BIN))
	@$(RUN_SCENARIOS) tests/torture
	@$(if $(T),,$(MAKE) --no-print-directory fuzz-torture)
	@$(if $(T),,$(MAKE) --no-print-directory differential DIFFERENTIAL_INPUTS=$(DIFFERENTIAL_TORTURE_INPUTS))

valgrind: all $(UNIT_BIN) $(SIM_BIN)
	@CALLGATE_VALGRIND=1 $(RUN_TESTS) valgrind $(UNIT_BIN) $(SIM_BIN)

asan tsan:
	@MAKE="$(MAKE) FLAVOUR=$@" tools/run-all unit sim fuzz-replay integration
# With the library that libFuzzer searches, where it is there: one build for both, and what a second compiler makes of the sources.
# The step before them tries at each place what they try at each third; `make asan` tries all.
asan-units: export CALLGATE_SAMPLE := 3
asan-units: asan-programs
	@CALLGATE_STEP=$@ MAKE="$(MAKE) FLAVOUR=$$($(HAS_LIBFUZZER) && echo fuzz || echo asan)" nice -n 10 tools/run-all unit sim fuzz-replay

# Scenarios wait three quarters of their time, and what stands under sanitizers computes: side by side, and the scenarios' clients first.
scenarios-asan-units:
	@$(MAKE) --no-print-directory --keep-going scenarios asan-units

# What `make test` makes beside its steps. Two that make one flavour would do each other's work: the second waits.
.PHONY: ahead asan-programs interop-packages
ahead:
	@$(MAKE) --no-print-directory interop-packages & nice -n 19 $(MAKE) --no-print-directory asan-programs; wait
asan-programs:
	@mkdir -p build; if $(HAS_LIBFUZZER); then what="FLAVOUR=fuzz programs fuzz-link"; else what="FLAVOUR=asan programs"; fi; \
	flock build/asan.lock $(MAKE) --no-print-directory $$what
interop-packages:
	@for what in go vectors otelcol registry-types store keycloak hooks dojo apis shell duckdb ocsf sql; do tests/interop/lib/setup $$what || true; done
	@tests/interop/lib/unpack prometheus || true
	@tests/interop/lib/unpack rsyslog || true

# Other machines: Alpine's C library, as far as a compiler sees, and the unit tests on an emulated processor (T= narrows).
musl: $(LOOKALIKES)
	@WARNINGS="$(WARNINGS)" LLHTTP_CFLAGS="$(LLHTTP_CFLAGS)" tools/check-musl

arm64:
	@command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null || \
	    { echo "make arm64 needs a compiler and an emulator for it: tools/install-deps --arm64" >&2; exit 1; }
	@$(MAKE) --no-print-directory FLAVOUR=arm64 all unit

# AddressSanitizer and UBSan run together in one build.
ubsan: asan

cover:
	@find build/cover -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory FLAVOUR=cover unit
	@$(MAKE) --no-print-directory FLAVOUR=cover sim
	@tools/cover build/cover

# Debian has libFuzzer in a package of its own beside clang.
HAS_LIBFUZZER := printf 'int LLVMFuzzerTestOneInput(const char *b, unsigned long n);int LLVMFuzzerTestOneInput(const char *b, \
                 unsigned long n) { return b == 0 && n; }' | clang -fsanitize=fuzzer,address -x c -o /dev/null - 2>/dev/null

.PHONY: fuzz-smoke fuzz-torture fuzz-run fuzz-link fuzz-random
fuzz:
	@$(HAS_LIBFUZZER) || { echo "make fuzz needs clang with libFuzzer: tools/install-deps --all; make fuzz-replay does without" >&2; exit 1; }
	@$(MAKE) --no-print-directory FLAVOUR=fuzz fuzz-run

FUZZ_BIN := $(FUZZ_NAMES:%=$(B)/tests/fuzz/fuzz_%)
fuzz-link: $(FUZZ_BIN)
fuzz-run: $(FUZZ_BIN)
	@tests/fuzz/run --seconds $(FUZZ_SECONDS) --share $(or $(FUZZ_SHARE),0) --still $(or $(FUZZ_STILL),0) $(B)/corpus $^

fuzz-random: $(REPLAY_BIN)
	@tests/fuzz/run --seconds $(FUZZ_SECONDS) --share $(or $(FUZZ_SHARE),0) $(B)/corpus $^

# Some seconds for each target, by the best engine that is there; both run under AddressSanitizer and UBSan.
fuzz-smoke fuzz-torture: FUZZ_TIME = $(if $(filter fuzz-smoke,$@),FUZZ_SECONDS=$(FUZZ_SMOKE_SECONDS),FUZZ_SHARE=$(FUZZ_TORTURE_SECONDS))
fuzz-smoke fuzz-torture:
	@if $(HAS_LIBFUZZER); then \
	    echo "fuzz: libFuzzer searches"; $(MAKE) --no-print-directory FLAVOUR=fuzz $(FUZZ_TIME) fuzz-run; \
	else \
	    echo "fuzz: no clang with libFuzzer here; random changes of the stored inputs instead"; \
	    $(MAKE) --no-print-directory FLAVOUR=asan $(FUZZ_TIME) fuzz-random; \
	fi

# Small changes to the sources that the tests of their room must see. ROOM=gate, or enforce/redact, narrows; AGAIN=1 tries the survivors again.
MUTANTS ?= 200
SEED    ?= 1
.PHONY: mutants
mutants:
	@$(MAKE) --no-print-directory FLAVOUR=mutants programs oracle-programs build/mutants/tests/torture/preload_clock.so
	@tools/mutants --count $(MUTANTS) --seed $(SEED) $(ROOM:%=--room %) $(if $(AGAIN),--again)

.PHONY: oracle-programs
oracle-programs: $(ORACLE_BIN)

floors:
	@tools/check-floors
linked: $(GATE_BIN)
	@tools/check-floors --linked $(B)/callgate-gate.map
headers:
	@CC="$(CC)" HEADER_FLAGS="-std=gnu11 -D_GNU_SOURCE $(INCLUDES) $(PKG_CFLAGS) $(WARNINGS)" LLHTTP_CFLAGS="$(LLHTTP_CFLAGS)" \
	    tools/check-headers
lint: $(B)/callgate
	@tools/lint
	@$(B)/callgate policy fmt --check policies/*/*.yaml
	@tools/check-columns
	@tools/draw --check
	@tools/check-references
promises:
	@tools/check-promises

# What documents show of the sources: states, reasons, floors.
drawings:
	@tools/draw

REPOSITORY := floors headers lint
check: ORACLE_AGREEMENTS := 20000
check: export CALLGATE_SAMPLE := 3
check:
	@MAKE="$(MAKE) ORACLE_AGREEMENTS=$(ORACLE_AGREEMENTS)" tools/run-all $(REPOSITORY) $(if $(wildcard tests/README.md),promises) strict all linked unit \
	    sim fuzz-replay oracle

# What continuous integration runs is everything, and what would rot unseen.
.PHONY: ci
TESTED := all $(if $(filter 1,$(WERROR)),strict) $(REPOSITORY) promises unit sim fuzz-replay oracle scenarios-asan-units differential fuzz-smoke
ci: TESTED += flavours bench-second way
test ci:
	@tools/install-deps
	@tools/install-deps --tests || echo "going on; tests that need what is missing are skipped and say so"
	@AHEAD=ahead MAKE="$(MAKE)" tools/run-all $(TESTED)

# Machines that have nothing else: see tools/bare. SUITES="trixie noble" narrows.
.PHONY: bare
bare:
	@tools/bare $(SUITES)

# Debian's source package and what is built of it, into build/deb: see tools/dist/README.md.
.PHONY: deb packages
deb:
	@tools/dist/make-deb
packages:
	@tools/packages

# What the other targets leave out: each flavour is built, and each bench runs for a second, so that none of them rots.
.PHONY: flavours flavour-% bench-second
FLAVOURS := debug asan tsan cover way $(if $(shell command -v clang),fuzz)
flavours: $(FLAVOURS:%=flavour-%)
flavour-%:
	@$(MAKE) --no-print-directory FLAVOUR=$* all

bench-second: all pgo $(BENCH_BIN)
	@tests/bench/second "$(CURDIR)/build/pgo/callgate"

deps:
	@tools/install-deps

demo:
	@tools/install-deps
	@$(MAKE) --no-print-directory all
	@tools/demo

demo-fleet:
	@tools/install-deps --fleet
	@$(MAKE) --no-print-directory all
	@tools/demo-fleet

pgo:
	@$(CC) --version | grep -qi 'free software foundation' || { echo "make pgo needs GCC; plain make does without" >&2; exit 1; }
	@rm -rf $(PROFILE)
	@$(MAKE) --no-print-directory FLAVOUR=pgo TRAINS=1 build/pgo/callgate build/pgo/callgate-gate build/pgo/callgate-runner build/pgo/callgate-courier
	@CALLGATE="$(CURDIR)/build/pgo/callgate" tests/bench/train
	@$(MAKE) --no-print-directory FLAVOUR=pgo build/pgo/callgate build/pgo/callgate-gate build/pgo/callgate-runner build/pgo/callgate-courier

bench: all pgo $(BENCH_BIN)
	@CALLGATE="$(CURDIR)/build/pgo/callgate" tests/bench/run
	@CALLGATE="$(CURDIR)/build/pgo/callgate" tests/bench/wires
	@tests/bench/policy
	@tests/bench/audit
	@tests/bench/ship
	@tests/bench/centre
	@tests/bench/fleet

# The way of one call through the gate.
way:
	@$(MAKE) --no-print-directory FLAVOUR=way all hooks
	@CALLGATE="$(CURDIR)/build/way/callgate" tools/way

hooks: $(HOOKS)

# ---- install --------------------------------------------------------------------------------------------------------

.PHONY: install
DOC := $(PREFIX)/share/doc/callgate
DATA := $(PREFIX)/share/callgate
UNITS := $(PREFIX)/lib/systemd/system
SHELLS := bash zsh fish
PLACE_bash := bash-completion/completions/callgate
PLACE_zsh := zsh/site-functions/_callgate
PLACE_fish := fish/vendor_completions.d/callgate.fish
install: $(BIN) $(GATE_BIN) $(RUNNER_BIN) $(B)/man/callgate.1 $(SHELLS:%=$(BIN).%)
	@test -n "$(BIN)" || { echo "nothing to install: src/desk/cli/main.c is not there" >&2; exit 1; }
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(DOC) $(DESTDIR)$(DATA)
	install -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/callgate
	install -D -m 0755 $(GATE_BIN) $(DESTDIR)$(PREFIX)/libexec/callgate/callgate-gate
	install -D -m 0755 $(RUNNER_BIN) $(DESTDIR)$(PREFIX)/libexec/callgate/callgate-runner
	install -D -m 0755 $(COURIER_BIN) $(DESTDIR)$(PREFIX)/libexec/callgate/callgate-courier
	install -m 0644 README.md SECURITY.md CHANGELOG.md CONTRIBUTING.md LICENSE $(DESTDIR)$(DOC)
	for d in $(wildcard schema policies); do \
	    (cd $$d && find . -type f -exec install -D -m 0644 '{}' $(DESTDIR)$(DATA)/$$d/'{}' \;) || exit 1; done
	install -m 0755 tools/verify-audit tools/dist/notify-chat tools/dist/check-policies tools/dist/ship-sealed $(DESTDIR)$(DATA)
	sed 's|@PREFIX@|$(PREFIX)|g' tools/dist/pre-commit > $(DESTDIR)$(DATA)/pre-commit && chmod 0755 $(DESTDIR)$(DATA)/pre-commit
	for f in callgate.yaml github-action/action.yml grafana/callgate.json kubernetes/gateway.yaml kubernetes/sidecar.yaml \
	    prometheus/callgate.rules.yml; do \
	    install -D -m 0644 tools/dist/$$f $(DESTDIR)$(DATA)/$$f || exit 1; done
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(B)/man/*.1
	$(foreach s,$(SHELLS),install -D -m 0644 $(BIN).$(s) $(DESTDIR)$(PREFIX)/share/$(PLACE_$(s)) &&) true
	for d in src tests tools; do find $$d -name '*.md' -o -path '*/console/*.png' | xargs -I '{}' install -D -m 0644 '{}' $(DESTDIR)$(DOC)/'{}' || exit 1; done
	for d in schema policies; do ln -sfn ../../callgate/$$d $(DESTDIR)$(DOC)/$$d || exit 1; done
	for d in README.md SECURITY.md CHANGELOG.md CONTRIBUTING.md src tests tools; do ln -sfn ../doc/callgate/$$d $(DESTDIR)$(DATA)/$$d || exit 1; done
	install -D -m 0644 tools/dist/callgate.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/callgate.conf
	install -D -m 0644 tools/dist/callgate.tmpfiles $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/callgate.conf
	for u in $(foreach k,service socket path timer,$(wildcard tools/dist/*.$(k))); do \
	    mkdir -p $(DESTDIR)$(UNITS) && sed 's|@PREFIX@|$(PREFIX)|g' $$u > $(DESTDIR)$(UNITS)/$${u##*/} || exit 1; done

# A page for each command, and one of all.
$(B)/man/callgate.1: $(B)/callgate $(GATE_BIN) tools/make-man tools/dist/callgate.1.in
	$(call say,MAN,$(@D))
	$(Q)tools/make-man $< $(VERSION) $(@D)

$(B)/callgate.%: $(B)/callgate
	$(call say,COMPLETE,$@)
	$(Q)$< completion $* > $@

clean:
	rm -rf build

help:
	@sed -n 's/^#: //p' Makefile

#: make              build/release/callgate, callgate-gate, callgate-runner and callgate-courier (FLAVOUR=release, pgo, debug, asan, tsan or cover for others)
#: make demo         a permitted call, two denied calls and their audit rows, from nothing (KEEP=1 leaves it running)
#: make demo-fleet   likewise two gates on one PostgreSQL: a policy for both, an approval given at one and used at the other (KEEP=1)
#: make test         installs what is missing, builds, runs everything; one closing line
#: make check        about a minute on two cores: floors, headers, lint, promises, no warnings, unit, sim, fuzz inputs
#: make unit         unit tests; T=json/test_canon picks by name (also for sim, integration, interop)
#: make sim          the pair against memory streams, in virtual time
#: make fuzz-replay  every fuzz target over its stored inputs, whole and cut short
#: make oracle       a second evaluator judges random policies and calls (ORACLE_AGREEMENTS=60000, ORACLE_SEED=1)
#: make mutants      small changes to the sources that the tests of their room must see (MUTANTS=200 SEED=1 ROOM=gate AGAIN=1)
#:                   paths and URIs that it lets through are opened by Python, Node and Go (SPELLINGS=4000)
#: make differential what our readers accept, CPython, Node and Go read the same (DIFFERENTIAL_INPUTS=20000 each of JSON and HTTP)
#: make integration  scenarios with the real program (tests/integration); make scenarios: these and interop's side by side
#: make interop      real clients and servers (tests/interop); what is not available is skipped and said so
#: make torture      the n-th allocation, system call or commit fails, a soak (SOAK=600); without T= also an hour of fuzzing
#:                   (FUZZ_TORTURE_SECONDS=3600)
#:                   and a million inputs for each comparison of `make differential`
#: make asan tsan    unit, sim, fuzz inputs and integration under AddressSanitizer+UBSan, or ThreadSanitizer
#: make musl         every file of src compiles against musl's headers
#: make arm64        cross-compiled for ARM64, unit tests under qemu; needs tools/install-deps --arm64
#: make valgrind     unit and sim under valgrind
#: make fuzz         libFuzzer, FUZZ_SECONDS=30 each; needs clang. FUZZ_STILL=720: rounds of these until two find no new edge, at most 720 s
#: make fuzz-smoke   FUZZ_SMOKE_SECONDS=3 each, by libFuzzer where clang is there, else by random changes of the stored inputs
#: make cover        line coverage by folder
#: make pgo          build/pgo/callgate: release, trained by a run of calls, for this machine's processor (MARCH= for others
#:                   too); a few percent faster (install: FLAVOUR=pgo)
#: make bench        side by side with nginx, bare stdio servers and other policy engines, as tables and JSON
#: make way          the way of one call and of its answer through the gate: functions, files, rooms, and what is done more than once
#: make ci           make test, flavours, bench-second and way
#: make flavours     what the other targets leave out is built, too: debug, asan, tsan, cover, way, and fuzz where clang is
#: make bench-second the trained program, and each bench for a second, without a figure: whether they work
#: make bare         README's two commands on four distributions as debootstrap makes them, as root and as a user (SUITES="trixie noble")
#: make deb          Debian's source and binary packages, into build/deb; needs tools/install-deps --all
#: make packages     two builds of the package compared, lintian, an upgrade and the image, as root (BARE_COMMANDS=packages make bare: on four)
#: make install      PREFIX=/usr/local DESTDIR=
#: make deps         tools/install-deps: the packages that the build needs (--tests: also what `make test` needs; --all: everything)
#: make drawings     writes the tables of states, reasons and floors into the documents anew
#: make clean        removes build/
#: V=1 shows commands; WERROR=1 makes warnings errors; -j is all cores unless given
