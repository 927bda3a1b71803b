// read-gdbus COUNT PARALLEL: GDBus alone, with g_dbus_connection_call.
//
// It reads characteristics of fake-bluez COUNT times, with PARALLEL pending calls, each for another characteristic as
// bluetoothd requires, and measures from the first call to the last reply.
#include "measurement.h"

#include <gio/gio.h>
#include <stdlib.h>

#define SERVICE "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0010"

enum { value_length = 20, maximum_parallel = 16 };

typedef struct Reader Reader;

// One of the parallel readers.
typedef struct {
    Reader *reader;
    char path[80];
} Turn;

struct Reader {
    GDBusConnection *bus;
    GMainLoop *loop;
    uint32_t total, called;
    Measurement measurement;
    Turn turns[maximum_parallel];
};

static void receive(GObject *bus, GAsyncResult *result, gpointer turn);

static void call(Turn *turn) {
    turn->reader->called++;
    g_dbus_connection_call(
        turn->reader->bus, "org.bluez", turn->path, "org.bluez.GattCharacteristic1", "ReadValue",
        g_variant_new("(a{sv})", NULL), G_VARIANT_TYPE("(ay)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL, receive, turn);
}

static void receive(GObject *bus, GAsyncResult *result, gpointer turn) {
    Reader *self = ((Turn *)turn)->reader;
    Measurement *measurement = &self->measurement;
    GError *error = NULL;
    GVariant *value, *reply = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);
    if (reply == NULL) {
        fprintf(stderr, "read-gdbus: %s\n", error->message);
        g_error_free(error);
        measurement->in_order = false;
    } else {
        gsize length;
        value = g_variant_get_child_value(reply, 0);
        g_variant_get_fixed_array(value, &length, 1);
        if (length != value_length) measurement->in_order = false;
        g_variant_unref(value);
        g_variant_unref(reply);
    }
    measurement->count++;
    if (self->called < self->total) call(turn);
    if (measurement->count == self->total) g_main_loop_quit(self->loop);
}

int main(int argument_count, char **arguments) {
    Reader reader = {.measurement = {.in_order = true}};
    uint32_t parallel = 0;
    GError *error = NULL;
    if (argument_count == 3) {
        reader.total = strtoul(arguments[1], NULL, 10);
        parallel = strtoul(arguments[2], NULL, 10);
    }
    if (reader.total == 0 || parallel == 0 || parallel > maximum_parallel) {
        fprintf(stderr, "usage: read-gdbus COUNT PARALLEL\n");
        return 64;
    }
    reader.bus = g_bus_get_sync(G_BUS_TYPE_SYSTEM, NULL, &error);
    if (reader.bus == NULL) {
        fprintf(stderr, "read-gdbus: %s\n", error->message);
        return 1;
    }
    reader.loop = g_main_loop_new(NULL, FALSE);
    start(&reader.measurement);
    for (uint32_t i = 0; i < parallel && reader.called < reader.total; i++) {
        Turn *turn = &reader.turns[i];
        turn->reader = &reader;
        snprintf(turn->path, sizeof turn->path, SERVICE "/char00%02u", i == 0 ? 11 : 20 + i);
        call(turn);
    }
    g_main_loop_run(reader.loop);
    report(&reader.measurement, reader.total);
    return !reader.measurement.in_order;
}
