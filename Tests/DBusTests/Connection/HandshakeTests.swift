import Testing

@testable import DBus

struct HandshakeTests {
    private func line(_ text: String) -> [UInt8] { Array("\(text)\r\n".utf8) }

    @Test func `the user is named in hexadecimal digits of its decimal ones`() {
        #expect(Handshake.start(userID: 1000) == [0] + line("AUTH EXTERNAL 31303030"))
    }

    @Test func `a bus that agrees is asked for descriptors, and begun with`() {
        var handshake = Handshake()
        #expect(handshake.receive("OK 1234deadbeef") == .send(line("NEGOTIATE_UNIX_FD")))
        #expect(!handshake.passesDescriptors)
        #expect(handshake.receive("AGREE_UNIX_FD") == .done(line("BEGIN")))
        #expect(handshake.passesDescriptors)
    }

    @Test func `a bus without descriptors, such as one over TCP, is begun with`() {
        var handshake = Handshake()
        _ = handshake.receive("OK 1234deadbeef")
        #expect(handshake.receive("ERROR not here") == .done(line("BEGIN")))
        #expect(!handshake.passesDescriptors)
    }

    @Test func `a bus that takes nobody's word may take nobody`() {
        var handshake = Handshake()
        #expect(handshake.receive("REJECTED EXTERNAL ANONYMOUS") == .send(line("AUTH ANONYMOUS")))
        #expect(handshake.receive("REJECTED EXTERNAL ANONYMOUS").isFailure)
    }

    @Test(arguments: ["REJECTED EXTERNAL", "ERROR what?", "", "HTTP/1.1 400 Bad Request", "AGREE_UNIX_FD"])
    func `anything else is an error`(_ line: String) {
        var handshake = Handshake()
        #expect(handshake.receive(line).isFailure)
    }

    @Test(arguments: ["REJECTED EXTERNAL", "OK again", ""])
    func `anything but yes or no to descriptors is an error`(_ line: String) {
        var handshake = Handshake()
        _ = handshake.receive("OK 1234deadbeef")
        #expect(handshake.receive(line).isFailure)
    }
}

extension Handshake.Step {
    fileprivate var isFailure: Bool { if case .fail = self { true } else { false } }
}
