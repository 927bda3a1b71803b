import BLEFeatures
import Testing

@Suite struct MessageCommandTests {
    @Test(arguments: [(0x0105, 0x01, 0x05, "0x0105"), (0x0201, 0x02, 0x01, "0x0201"), (0xFE0A, 0xFE, 0x0A, "0xFE0A")])
    func `the high byte is the command, the low one the namespace`(
        rawValue: UInt16, command: UInt8, namespace: UInt8, description: String
    ) {
        let whole = MessageCommand(rawValue: rawValue)
        #expect(whole.command == command)
        #expect(whole.namespace == namespace)
        #expect(whole == MessageCommand(command: command, namespace: namespace))
        #expect(whole.description == description)
    }
}
