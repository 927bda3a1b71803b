// libdbus, with constants for macros that Swift cannot import because of their casts.
#ifndef BLE_CDBUS_SHIM_H
#define BLE_CDBUS_SHIM_H

#include <dbus/dbus.h>

static const dbus_uint32_t ble_dbus_watch_readable = DBUS_WATCH_READABLE;
static const dbus_uint32_t ble_dbus_watch_writable = DBUS_WATCH_WRITABLE;
static const dbus_uint32_t ble_dbus_watch_error = DBUS_WATCH_ERROR;
static const dbus_uint32_t ble_dbus_watch_hangup = DBUS_WATCH_HANGUP;

#endif
