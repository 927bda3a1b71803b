import BLE
import Testing
import Waiting

@testable import BLEBlueZ

/// What each subscriber has yet to confirm, and who waits for it.
final class SubscriberValuesTests {
    private static let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
    private static let one = AttributeOfCentral(
        attribute: attribute, central: Peripheral.ID(rawValue: "C0:00:00:00:0A:01"))
    private static let other = AttributeOfCentral(
        attribute: attribute, central: Peripheral.ID(rawValue: "C0:00:00:00:0A:02"))
    private static let all = AttributeOfCentral(attribute: attribute)

    private var values = SubscriberValues()

    private func apply<Value>(_ change: (inout SubscriberValues) -> Value) -> Value { change(&values) }

    private func indicate(to key: AttributeOfCentral, _ central: Peripheral.ID? = nil) -> Outcome<Void> {
        let outcome = Outcome<Void>()
        values.indicate(to: central ?? key.central, as: key, at: .zero, outcome)
        if key.central != nil { values.sent(to: key, at: .zero) }
        return outcome
    }

    @Test func `an indication is confirmed after the values before it, those of its central alone`() {
        values.sent(to: Self.one, at: .zero)
        let (first, second) = (indicate(to: Self.one), indicate(to: Self.other))
        values.confirmed(Self.one)
        #expect(first.isOpen)
        #expect(second.isOpen)
        values.confirmed(Self.one)
        #expect(!first.isOpen)
        values.confirmed(Self.other)
        #expect(!second.isOpen)
    }

    @Test func `indications to all are confirmed in order, and end with the last subscriber`() {
        let (first, second) = (indicate(to: Self.all), indicate(to: Self.all))
        values.confirmed(Self.all)
        #expect(!first.isOpen)
        #expect(second.isOpen)
        values.failSignaled(Self.attribute, to: Self.one.central!, all: false, BLEError(.disconnected, "gone"))
        #expect(second.isOpen)
        let signaled = indicate(to: Self.all, Self.one.central)
        values.failSignaled(Self.attribute, to: Self.one.central!, all: false, BLEError(.disconnected, "gone"))
        #expect(!signaled.isOpen)
        #expect(second.isOpen)
        values.failSignaled(Self.attribute, to: Self.one.central!, all: true, BLEError(.disconnected, "gone"))
        #expect(!second.isOpen)
        // One that confirms nothing.
        values.confirmed(Self.all)
        #expect(values.keys().isEmpty)
    }

    @Test func `a confirmation is outstanding for an indication, even one whose caller has gone`() {
        values.sent(to: Self.other, at: .zero)
        #expect(!apply { $0.isConfirming(Self.other, each: [], at: .zero) })
        #expect(apply { $0.isConfirming(Self.other, each: [Self.attribute], at: .zero) })
        let indication = indicate(to: Self.one)
        values.forget(indication, of: Self.one)
        #expect(apply { $0.isConfirming(Self.one, each: [], at: .zero) })
        #expect(!apply { $0.isConfirming(Self.one, each: [], at: .seconds(30)) })
        values.confirmed(Self.one)
        #expect(!apply { $0.isConfirming(Self.one, each: [], at: .zero) })
        values.sent(to: Self.one, at: .zero)
        #expect(!apply { $0.isConfirming(Self.one, each: [], at: .zero) })
    }

    @Test func `a change ends the waits for it, and leaves nothing behind`() {
        let (wait, given) = (values.wait(for: Self.one), values.wait(for: Self.one))
        let others = values.wait(for: Self.other)
        #expect(Set(values.awaited) == [Self.one, Self.other])
        values.endWait(given, for: Self.one)
        values.settle(Self.one)
        #expect(!wait.isOpen)
        #expect(given.isOpen)
        #expect(others.isOpen)
        values.endWait(others, for: Self.other)
        #expect(values.keys().isEmpty)
    }
}
