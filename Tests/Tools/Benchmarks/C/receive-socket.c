// receive-socket: AcquireNotify with libdbus, and then a loop around recv and poll on the socket alone.
#include "measurement.h"
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

int main(void) {
    Measurement measurement = {0};
    struct pollfd watched = {acquire(open_bus(), SERVICE "/char0011", "AcquireNotify"), POLLIN};
    bool done = false;
    while (!done) {
        uint8_t packet[512];
        ssize_t length = recv(watched.fd, packet, sizeof packet, 0);
        if (length > 0) {
            done = measure(&measurement, packet, (int)length);
        } else if (length < 0 && errno == EAGAIN) {
            poll(&watched, 1, -1);
        } else {
            fprintf(stderr, "receive-socket: the socket has ended after %u packets\n", measurement.count);
            return 1;
        }
    }
    return 0;
}
