// receive-gdbus: GDBus alone, with g_dbus_connection_signal_subscribe.
#include "measurement.h"

#include <gio/gio.h>

#define CHARACTERISTIC "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0010/char0011"

static GMainLoop *loop;

static void receive(
    GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *signal,
    GVariant *arguments, gpointer measurement) {
    GVariant *properties, *value;
    const char *changed;
    (void)bus, (void)sender, (void)interface, (void)signal;
    if (!g_variant_is_of_type(arguments, G_VARIANT_TYPE("(sa{sv}as)")) || !g_str_equal(path, CHARACTERISTIC)) return;
    g_variant_get(arguments, "(&s@a{sv}@as)", &changed, &properties, NULL);
    value = g_variant_lookup_value(properties, "Value", G_VARIANT_TYPE_BYTESTRING);
    if (value != NULL) {
        gsize length;
        const uint8_t *bytes = g_variant_get_fixed_array(value, &length, 1);
        if (measure(measurement, bytes, (int)length)) g_main_loop_quit(loop);
        g_variant_unref(value);
    }
    g_variant_unref(properties);
}

int main(void) {
    Measurement measurement = {0};
    GError *error = NULL;
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SYSTEM, NULL, &error);
    if (bus == NULL) {
        fprintf(stderr, "receive-gdbus: %s\n", error->message);
        return 1;
    }
    loop = g_main_loop_new(NULL, FALSE);
    g_dbus_connection_signal_subscribe(
        bus, "org.bluez", "org.freedesktop.DBus.Properties", "PropertiesChanged", NULL, NULL,
        G_DBUS_SIGNAL_FLAGS_NONE, receive, &measurement, NULL);
    g_dbus_connection_call(
        bus, "org.bluez", CHARACTERISTIC, "org.bluez.GattCharacteristic1", "StartNotify", NULL, NULL,
        G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
    g_main_loop_run(loop);
    return 0;
}
