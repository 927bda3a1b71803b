// What Swift cannot reach in GLib: macros, variadics, and a GSource with state of its own.
#ifndef BLE_CGLIB_SHIM_H
#define BLE_CGLIB_SHIM_H

#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <glib-object.h>
#include <glib.h>
#include <sys/timerfd.h>
#include <time.h>

/// What a source of the event loop does; `context` is handed to each function.
typedef struct {
    gpointer context;
    /// True when the source can run without waiting for its descriptor.
    gboolean (*ready)(gpointer context);
    /// Runs the source. `condition` is what its descriptor reported, 0 without one.
    void (*run)(gpointer context, GIOCondition condition);
} BLESourceActions;

typedef struct {
    GSource base;
    BLESourceActions actions;
    gpointer tag;
} BLESource;

static inline gboolean ble_source_prepare(GSource *source, gint *timeout) {
    BLESource *self = (BLESource *)source;
    *timeout = -1;
    return self->actions.ready(self->actions.context);
}

static inline gboolean ble_source_check(GSource *source) {
    BLESource *self = (BLESource *)source;
    if (self->tag != NULL && g_source_query_unix_fd(source, self->tag) != 0) return TRUE;
    return self->actions.ready(self->actions.context);
}

static inline gboolean ble_source_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    BLESource *self = (BLESource *)source;
    (void)callback;
    (void)data;
    self->actions.run(self->actions.context, self->tag == NULL ? 0 : g_source_query_unix_fd(source, self->tag));
    return G_SOURCE_CONTINUE;
}

/// A source that is attached to `context` and watches `descriptor` for `condition`, or nothing when it is -1.
static inline GSource *ble_source_attach(
    GMainContext *context, int descriptor, GIOCondition condition, BLESourceActions actions) {
    static GSourceFuncs functions = {.prepare = ble_source_prepare, .check = ble_source_check, .dispatch = ble_source_dispatch};
    GSource *source = g_source_new(&functions, sizeof(BLESource));
    ((BLESource *)source)->actions = actions;
    // Otherwise GLib takes the descriptor out of the context while the source runs, and wakes the context for it twice.
    g_source_set_can_recurse(source, TRUE);
    if (descriptor >= 0) ((BLESource *)source)->tag = g_source_add_unix_fd(source, descriptor, condition);
    g_source_attach(source, context);
    return source;
}

static inline void ble_source_set_condition(GSource *source, GIOCondition condition) {
    g_source_modify_unix_fd(source, ((BLESource *)source)->tag, condition);
}

/// A timer that is a descriptor, by the clock of Swift's `ContinuousClock`; -1 if there can be none.
static inline int ble_timer_create(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }
/// Has the timer expire once, after a time that is not zero.
static inline void ble_timer_set(int timer, long seconds, long nanoseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    timerfd_settime(timer, 0, &time, NULL);
}

static inline GQuark ble_dbus_error_quark(void) { return G_DBUS_ERROR; }
static inline GQuark ble_io_error_quark(void) { return G_IO_ERROR; }
static inline gulong ble_signal_connect(gpointer instance, const char *name, GCallback handler, gpointer data) {
    return g_signal_connect_data(instance, name, handler, data, NULL, (GConnectFlags)0);
}
static inline GVariant *ble_variant_new_bytes(const void *bytes, gsize count) {
    return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, count == 0 ? NULL : bytes, count, 1);
}
/// Signals that a property has new bytes. False if the connection is closed.
static inline gboolean ble_emit_changed_bytes(
    GDBusConnection *connection, const char *path, const char *interface, const char *property, const void *bytes, gsize count) {
    GVariant *entry = g_variant_new_dict_entry(
        g_variant_new_string(property), g_variant_new_variant(ble_variant_new_bytes(bytes, count)));
    GVariant *body[] = {g_variant_new_string(interface), g_variant_new_array(NULL, &entry, 1), g_variant_new_strv(NULL, 0)};
    return g_dbus_connection_emit_signal(
        connection, NULL, path, "org.freedesktop.DBus.Properties", "PropertiesChanged", g_variant_new_tuple(body, 3), NULL);
}
/// The descriptor under a stream that `g_dbus_address_get_stream` has opened.
static inline int ble_stream_descriptor(GIOStream *stream) {
    return g_socket_get_fd(g_socket_connection_get_socket((GSocketConnection *)stream));
}
static inline GVariantType *ble_variant_type(const char *signature) { return g_variant_type_new(signature); }

#endif
