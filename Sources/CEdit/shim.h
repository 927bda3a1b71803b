// What Swift cannot reach in libedit: its functions with variable arguments, and the streams of C. And a
// descriptor to wake its thread with.
#ifndef BLE_CEDIT_SHIM_H
#define BLE_CEDIT_SHIM_H

#include <histedit.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <wchar.h>

typedef wchar_t *(*ble_edit_prompt)(EditLine *);
typedef unsigned char (*ble_edit_command)(EditLine *, wint_t);

/// An editor that reads from standard input and draws on standard error.
static inline EditLine *ble_edit_new(void) { return el_init("ble", stdin, stderr, stderr); }

/// The keys of Emacs, as in other shells; some builds of libedit begin with those of vi.
static inline void ble_edit_use_emacs(EditLine *edit) { el_wset(edit, EL_EDITOR, L"emacs"); }

static inline void ble_edit_set_data(EditLine *edit, void *data) { el_wset(edit, EL_CLIENTDATA, data); }

static inline void *ble_edit_data(EditLine *edit) {
    void *data = NULL;
    el_wget(edit, EL_CLIENTDATA, &data);
    return data;
}

static inline void ble_edit_set_prompt(EditLine *edit, ble_edit_prompt prompt) { el_wset(edit, EL_PROMPT, prompt); }

static inline void ble_edit_set_reader(EditLine *edit, el_rfunc_t reader) { el_wset(edit, EL_GETCFN, reader); }

static inline void ble_edit_set_history(EditLine *edit, HistoryW *history) {
    el_wset(edit, EL_HIST, history_w, history);
}

/// Gives a function a name that keys can be bound to. libedit keeps the name, and does not free it.
static inline void ble_edit_add(EditLine *edit, const wchar_t *name, ble_edit_command command) {
    el_wset(edit, EL_ADDFN, wcsdup(name), L"", command);
}

static inline void ble_edit_bind(EditLine *edit, const wchar_t *key, const wchar_t *name) {
    el_wset(edit, EL_BIND, key, name, NULL);
}

/// While a line is edited, the terminal sends no signal for Ctrl-Z and Ctrl-\, which would leave it set up for that. It
/// does for Ctrl-C, as at any other time: as a character, one between the end of a line and the command would wait for
/// the next line.
static inline void ble_edit_take_signal_keys(EditLine *edit) {
    // Now, and when libedit takes over keys that the user has changed.
    el_wset(edit, EL_SETTY, L"-d", L"susp=", L"quit=", L"-susp", L"-quit", NULL);
}

/// Sets the terminal up for editing, or back.
static inline void ble_edit_prepare(EditLine *edit, int edits) { el_wset(edit, EL_PREP_TERM, edits); }

/// Draws the prompt and the line again, below what was written meanwhile.
static inline void ble_edit_refresh(EditLine *edit) { el_wset(edit, EL_REFRESH); }

static inline void ble_history_limit(HistoryW *history, int count) {
    HistEventW event;
    history_w(history, &event, H_SETSIZE, count);
}

static inline void ble_history_add(HistoryW *history, const wchar_t *line) {
    HistEventW event;
    history_w(history, &event, H_ENTER, line);
}

/// A descriptor that `ble_wake` makes readable, until `ble_wake_clear`. -1 if there can be none.
static inline int ble_wake_new(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void ble_wake(int descriptor) { eventfd_write(descriptor, 1); }

static inline void ble_wake_clear(int descriptor) {
    eventfd_t count;
    eventfd_read(descriptor, &count);
}

#endif
