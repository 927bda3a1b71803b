// What Swift cannot reach in GLib: macros.
#ifndef BLE_CGLIB_SHIM_H
#define BLE_CGLIB_SHIM_H

#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <glib-object.h>
#include <glib.h>

static inline GQuark ble_io_error_quark(void) { return G_IO_ERROR; }
/// The descriptor under a stream that `g_dbus_address_get_stream_sync` has opened.
static inline int ble_stream_descriptor(GIOStream *stream) {
    return g_socket_get_fd(g_socket_connection_get_socket((GSocketConnection *)stream));
}

#endif
