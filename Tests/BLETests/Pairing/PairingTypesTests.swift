import BLE
import Testing

@Suite struct PasskeyTests {
    @Test(arguments: [
        ("0", 0 as UInt32), ("000000", 0), ("7", 7), ("123 456", 123_456), ("999999", 999_999), ("012345", 12345),
    ])
    func `digits make a number`(_ text: String, _ value: UInt32) {
        #expect(Passkey(text)?.value == value)
    }

    @Test(arguments: ["", " ", "1234567", "12a456", "-1", "+1", "1.0", "١٢٣", "0x10"])
    func `anything else does not`(_ text: String) {
        #expect(Passkey(text) == nil)
    }

    @Test func `a number has six digits at most, and always shows six`() {
        #expect(Passkey(1_000_000) == nil)
        #expect(Passkey(.max) == nil)
        #expect(Passkey(999_999)?.description == "999999")
        #expect(Passkey(42)?.description == "000042")
    }
}

@Suite struct PairingProcedureTests {
    /// Core Specification 5.4, volume 3, part H, table 2.8: rows are the initiator's capability, columns the responder's, both in
    /// the order DisplayOnly, DisplayYesNo, KeyboardOnly, NoInputNoOutput, KeyboardDisplay.
    private static let table: [[AssociationModel]] = [
        [.justWorks, .justWorks, .passkeyEnteredOnResponder, .justWorks, .passkeyEnteredOnResponder],
        [.justWorks, .numericComparison, .passkeyEnteredOnResponder, .justWorks, .numericComparison],
        [
            .passkeyEnteredOnInitiator, .passkeyEnteredOnInitiator, .passkeyEnteredOnBoth, .justWorks,
            .passkeyEnteredOnInitiator,
        ],
        [.justWorks, .justWorks, .justWorks, .justWorks, .justWorks],
        [.passkeyEnteredOnInitiator, .numericComparison, .passkeyEnteredOnResponder, .justWorks, .numericComparison],
    ]

    @Test func `what happens is that of the specification's table`() {
        for (row, initiator) in zip(Self.table, IOCapability.allCases) {
            for (expected, responder) in zip(row, IOCapability.allCases) {
                #expect(
                    AssociationModel(initiator: initiator, responder: responder) == expected,
                    "\(initiator) with \(responder)")
            }
        }
    }
}
