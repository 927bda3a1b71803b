// write-socket COUNT: AcquireWrite with libdbus, and then a loop around send and poll on the socket alone.
//
// It writes COUNT packets of 20 bytes: the number from 0, little-endian, in the first 4 bytes. It ends when the third
// characteristic has returned the number of packets that came in order.
#include "measurement.h"
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

enum { packet_length = 20 };

static bool write_packet(struct pollfd *watched, uint32_t number) {
    uint8_t packet[packet_length] = {0};
    for (int i = 0; i < 4; i++) packet[i] = number >> (8 * i);
    while (send(watched->fd, packet, sizeof packet, MSG_NOSIGNAL) < 0) {
        if (errno != EAGAIN) return false;
        poll(watched, 1, -1);
    }
    return true;
}

// The number of packets that came in order.
static uint32_t ask(DBusConnection *bus) {
    const uint8_t *value;
    int length;
    DBusMessage *reply = call(bus, SERVICE "/char0016", "ReadValue");
    if (!dbus_message_get_args(
            reply, NULL, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &value, &length, DBUS_TYPE_INVALID)
        || length != 4)
        return 0;
    return get_uint32(value);
}

int main(int argument_count, char **arguments) {
    Measurement measurement = {.count = argument_count == 2 ? strtoul(arguments[1], NULL, 10) : 0};
    if (measurement.count == 0) {
        fprintf(stderr, "usage: write-socket COUNT\n");
        return 64;
    }
    DBusConnection *bus = open_bus();
    struct pollfd watched = {acquire(bus, SERVICE "/char0014", "AcquireWrite"), POLLOUT};
    start(&measurement);
    for (uint32_t i = 0; i < measurement.count; i++) {
        if (!write_packet(&watched, i)) {
            fprintf(stderr, "write-socket: the socket has ended after %u packets\n", i);
            return 1;
        }
    }
    measurement.in_order = ask(bus) == measurement.count;
    report(&measurement, measurement.count);
    return 0;
}
