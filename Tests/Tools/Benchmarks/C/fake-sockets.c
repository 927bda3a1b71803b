// fake-sockets COUNT RATE: an org.bluez with one adapter and a connected peripheral, whose packets go through sockets.
//
// On the bus at DBUS_SYSTEM_BUS_ADDRESS. It prints "ready" once it owns the name. AcquireNotify on the first
// characteristic is answered with a socket, and 100 ms later COUNT packets of 20 bytes are sent through it: the counter
// from 0, little-endian, in the first 4 bytes. RATE is the number of packets a second, on an absolute schedule; 0 is as
// fast as the socket takes them. Then comes the marker: counter 0xFFFFFFFF, and COUNT in the 4 bytes after it.
// StartNotify is answered, but signals nothing: no client gets packets without a socket.
//
// AcquireWrite on the second characteristic is answered with a socket that expects COUNT such packets. WriteValue takes
// them too. A read of the third is answered when they have arrived, or when the writer has closed the socket. The value
// is the number of packets before the first one that is out of order, little-endian in 4 bytes. All other calls are
// answered meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// The system's function has the same name as the function for messages.
#define send send_message
#include "fake-peripheral.h"
#undef send

#define CHARACTERISTIC "org.bluez.GattCharacteristic1"
#define NOTIFYING SERVICE "/char0011"
#define WRITABLE SERVICE "/char0014"
#define RECEIVED SERVICE "/char0016"

// The number of packets that may pass before calls are answered again.
enum { att_mtu = 247, batch = 64 };

// The first property of each table is the one that changes.
static Property notifying_properties[] = {
    {"NotifyAcquired", "b", .number = false},
    {"UUID", "s", "00002a37-0000-1000-8000-00805f9b34fb"},
    {"Service", "o", SERVICE},
    {"Notifying", "b", .number = false},
    {"Flags", "as", "read notify"},
    {"MTU", "q", .number = att_mtu},
    {NULL},
};

static Property writable_properties[] = {
    {"WriteAcquired", "b", .number = false},
    {"UUID", "s", "0000ff02-0000-1000-8000-00805f9b34fb"},
    {"Service", "o", SERVICE},
    {"Flags", "as", "write-without-response"},
    {"MTU", "q", .number = att_mtu},
    {NULL},
};

static const Object objects[] = {
    {ADAPTER, "org.bluez.Adapter1", adapter_properties},
    {DEVICE, "org.bluez.Device1", device_properties},
    {SERVICE, "org.bluez.GattService1", service_properties},
    {NOTIFYING, CHARACTERISTIC, notifying_properties},
    {WRITABLE, CHARACTERISTIC, writable_properties},
    {RECEIVED, CHARACTERISTIC, (const Property[]){
        {"UUID", "s", "0000ff03-0000-1000-8000-00805f9b34fb"},
        {"Service", "o", SERVICE},
        {"Flags", "as", "read"},
        {"MTU", "q", .number = att_mtu},
        {NULL},
    }},
};
enum { object_count = sizeof objects / sizeof *objects };

// A characteristic that has a socket for its packets. The descriptor is that of this program's end, or -1.
typedef struct {
    const char *path;
    Property *properties;
    int descriptor;
} Socket;

typedef struct {
    DBusConnection *bus;
    uint32_t count, rate;
    Socket notifying, writable;
    // The number of sent packets, with the marker; the time when the next one is due; whether it waits for room.
    uint32_t sent;
    struct timespec due;
    bool is_full;
    // The number of received packets, and of those before the first one that was out of order. Whether the writer has
    // closed its end.
    uint32_t received, in_order;
    bool is_closed;
    // The read that is not answered yet, or NULL.
    DBusMessage *read;
} Peripheral;

// --- sockets ---

static void set_acquired(DBusConnection *bus, const Socket *socket, bool is_acquired) {
    socket->properties[0].number = is_acquired;
    send_properties_changed(bus, socket->path, CHARACTERISTIC, socket->properties, 1);
}

// The reply to AcquireNotify or AcquireWrite. Unless it is an error, there is a socket, which was signaled before, as
// in bluetoothd.
static DBusMessage *acquire(DBusConnection *bus, Socket *self, DBusMessage *call) {
    int ends[2];
    uint16_t mtu = att_mtu;
    if (self->descriptor >= 0) return dbus_message_new_error(call, "org.bluez.Error.NotPermitted", "acquired already");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return dbus_message_new_error(call, "org.bluez.Error.Failed", strerror(errno));
    DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_message_append_args(reply, DBUS_TYPE_UNIX_FD, &ends[1], DBUS_TYPE_UINT16, &mtu, DBUS_TYPE_INVALID);
    close(ends[1]);
    self->descriptor = ends[0];
    set_acquired(bus, self, true);
    return reply;
}

static void release(DBusConnection *bus, Socket *self) {
    if (self->descriptor < 0) return;
    close(self->descriptor);
    self->descriptor = -1;
    set_acquired(bus, self, false);
}

// --- packets to the client ---

static bool has_more(const Peripheral *self) { return self->notifying.descriptor >= 0 && self->sent <= self->count; }

// How many nanoseconds are left until the next packet is due.
static int64_t delay(const Peripheral *self) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = (self->due.tv_sec - now.tv_sec) * INT64_C(1000000000) + self->due.tv_nsec - now.tv_nsec;
    return left > 0 ? left : 0;
}

static void begin_notifying(Peripheral *self) {
    self->sent = 0;
    self->is_full = false;
    clock_gettime(CLOCK_MONOTONIC, &self->due);
    add_nanoseconds(&self->due, 100000000);
}

// Sends the packets that are due, but not more than a batch.
static void send_due(Peripheral *self) {
    self->is_full = false;
    for (int i = 0; i < batch && has_more(self) && delay(self) == 0; i++) {
        uint8_t packet[value_length] = {0};
        bool is_marker = self->sent == self->count;
        put_uint32(packet, is_marker ? UINT32_MAX : self->sent);
        if (is_marker) put_uint32(packet + 4, self->count);
        if (send(self->notifying.descriptor, packet, sizeof packet, MSG_NOSIGNAL) < 0) {
            // The loop detects that the other end is closed.
            self->is_full = true;
            return;
        }
        self->sent++;
        if (self->rate != 0) add_nanoseconds(&self->due, 1000000000 / self->rate);
    }
}

static void end_notifying(Peripheral *self) {
    if (has_more(self))
        fprintf(stderr, "fake-sockets: the socket was closed after %u of %u packets\n", self->sent, self->count);
    release(self->bus, &self->notifying);
}

// --- packets from the client ---

static void begin_writing(Peripheral *self) {
    self->received = self->in_order = 0;
    self->is_closed = false;
}

static void take(Peripheral *self, const uint8_t *packet, int length) {
    uint8_t expected[4];
    put_uint32(expected, self->in_order);
    if (self->in_order == self->received) {
        if (length == value_length && memcmp(packet, expected, sizeof expected) == 0) self->in_order++;
        else fprintf(stderr, "fake-sockets: packet %u is out of order or not %d bytes\n", self->received, value_length);
    }
    self->received++;
}

static void end_writing(Peripheral *self) {
    if (self->writable.descriptor >= 0) self->is_closed = true;
    release(self->bus, &self->writable);
}

// Takes the packets that have arrived, but not more than a batch.
static void receive(Peripheral *self) {
    for (int i = 0; i < batch; i++) {
        uint8_t packet[512];
        ssize_t length = recv(self->writable.descriptor, packet, sizeof packet, 0);
        if (length < 0 && errno == EAGAIN) return;
        if (length <= 0) return end_writing(self);
        take(self, packet, (int)length);
    }
}

// Answers the read that waits for the packets, if they have arrived.
static void answer_read(Peripheral *self) {
    uint8_t value[4];
    DBusMessageIter body;
    if (self->read == NULL || (self->received < self->count && !self->is_closed)) return;
    DBusMessage *reply = dbus_message_new_method_return(self->read);
    put_uint32(value, self->in_order);
    dbus_message_iter_init_append(reply, &body);
    append_bytes(&body, value, sizeof value);
    send_reply(self->bus, self->read, reply);
    dbus_message_unref(self->read);
    self->read = NULL;
    fprintf(
        stderr, "fake-sockets: %s: %u of %u packets, %u in order\n",
        self->in_order == self->count ? "complete" : "incomplete", self->received, self->count, self->in_order);
}

// --- calls ---

static const Property *find_properties(const char *path, const char *interface) {
    return find_object(objects, object_count, path, interface);
}

// The reply to a ReadValue, or NULL for one that is answered later.
static DBusMessage *read_value(Peripheral *self, DBusMessage *call) {
    static const uint8_t value[value_length];
    DBusMessageIter body;
    if (dbus_message_has_path(call, RECEIVED)) {
        if (self->read != NULL) return dbus_message_new_error(call, "org.bluez.Error.InProgress", "a read waits");
        self->read = dbus_message_ref(call);
        return NULL;
    }
    DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_message_iter_init_append(reply, &body);
    append_bytes(&body, value, value_length);
    return reply;
}

static DBusMessage *write_value(Peripheral *self, DBusMessage *call) {
    const uint8_t *packet;
    int length;
    DBusMessageIter body, bytes;
    if (self->writable.descriptor >= 0)
        return dbus_message_new_error(call, "org.bluez.Error.NotPermitted", "acquired already");
    if (!dbus_message_has_signature(call, "aya{sv}"))
        return dbus_message_new_error(call, "org.bluez.Error.InvalidArguments", "these are not a value and options");
    dbus_message_iter_init(call, &body);
    dbus_message_iter_recurse(&body, &bytes);
    dbus_message_iter_get_fixed_array(&bytes, &packet, &length);
    take(self, packet, length);
    return dbus_message_new_method_return(call);
}

static DBusMessage *acquire_socket(Peripheral *self, DBusMessage *call) {
    bool is_write = dbus_message_has_member(call, "AcquireWrite");
    DBusMessage *reply = acquire(self->bus, is_write ? &self->writable : &self->notifying, call);
    if (dbus_message_get_type(reply) == DBUS_MESSAGE_TYPE_ERROR) return reply;
    if (is_write) begin_writing(self);
    else begin_notifying(self);
    return reply;
}

// The reply to a call, or NULL for none. The changes are signaled before it, as in bluetoothd.
static DBusMessage *reply_to(Peripheral *self, DBusMessage *call) {
    // libdbus itself answers Peer.Ping.
    static const char *const plain[] = {
        "Connect", "Disconnect", "StartNotify", "StopNotify", "SetDiscoveryFilter", "StartDiscovery", "StopDiscovery",
    };
    const char *member = dbus_message_get_member(call);
    DBusMessageIter body;
    if (dbus_message_has_interface(call, "org.freedesktop.DBus.Properties"))
        return get_properties(call, find_properties);
    if (strcmp(member, "ReadValue") == 0) return read_value(self, call);
    if (strcmp(member, "WriteValue") == 0 && dbus_message_has_path(call, WRITABLE)) return write_value(self, call);
    if ((strcmp(member, "AcquireNotify") == 0 && dbus_message_has_path(call, NOTIFYING))
        || (strcmp(member, "AcquireWrite") == 0 && dbus_message_has_path(call, WRITABLE)))
        return acquire_socket(self, call);
    if (strcmp(member, "StopNotify") == 0 || strcmp(member, "Disconnect") == 0) end_notifying(self);
    if (strcmp(member, "Disconnect") == 0) {
        end_writing(self);
        set_connected(self->bus, false);
    }
    if (strcmp(member, "Connect") == 0) set_connected(self->bus, true);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(member, plain[i]) == 0) return dbus_message_new_method_return(call);
    if (strcmp(member, "GetManagedObjects") != 0) return NULL;
    DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_message_iter_init_append(reply, &body);
    append_objects(&body, objects, object_count);
    return reply;
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    Peripheral *self = data;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    self->bus = bus;
    DBusMessage *reply = reply_to(self, call);
    if (reply != NULL) send_reply(bus, call, reply);
    return reply != NULL || self->read == call ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

// --- the loop ---

// Waits for the bus, the sockets and the next packet that is due, and handles them.
static void turn(Peripheral *self, int bus) {
    bool waits = has_more(self) && !self->is_full;
    int64_t left = waits ? delay(self) : 0;
    const struct timespec timeout = {left / 1000000000, left % 1000000000};
    // An entry without a descriptor is ignored. The closing of the other end is always reported.
    struct pollfd watched[] = {
        {bus, POLLIN},
        {self->notifying.descriptor, has_more(self) && self->is_full ? POLLOUT : 0},
        {self->writable.descriptor, POLLIN},
    };
    if (ppoll(watched, 3, waits ? &timeout : NULL, NULL) < 0) return;
    if (watched[1].revents & (POLLHUP | POLLERR)) end_notifying(self);
    else if (!self->is_full || watched[1].revents != 0) send_due(self);
    if (watched[2].revents != 0) receive(self);
    if (watched[0].revents != 0) dbus_connection_read_write(self->bus, 0);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) {
        fprintf(stderr, "usage: fake-sockets COUNT RATE\n");
        return 64;
    }
    int descriptor;
    Peripheral self = {
        .count = strtoul(arguments[1], NULL, 10),
        .rate = strtoul(arguments[2], NULL, 10),
        .notifying = {NOTIFYING, notifying_properties, -1},
        .writable = {WRITABLE, writable_properties, -1},
    };
    self.bus = own_bluez("fake-sockets", answer, &self);
    if (self.bus == NULL || !dbus_connection_get_unix_fd(self.bus, &descriptor)) return 1;
    while (dbus_connection_get_is_connected(self.bus)) {
        while (dbus_connection_dispatch(self.bus) == DBUS_DISPATCH_DATA_REMAINS) {}
        answer_read(&self);
        dbus_connection_flush(self.bus);
        turn(&self, descriptor);
    }
    return 0;
}
