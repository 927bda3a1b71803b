// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Formats of characteristics, in the notation of Scripts/numbers/notation.py: 301.
    static var formats: NumberTable {
        NumberTable(#"""
        2a00 t Device Name
        2a01 a Appearance
        2a04 u2 Minimum Connection Interval;#2703;*125;e-5;!ffff:no specific minimum|u2 Maximum Connection Interval;#2703;*125;e-5;!ffff:no specific maximum|u2 Peripheral Latency|u2 Connection Supervision Timeout;#2703;e-2;!ffff:no specific value
        2a05 u2 Start of Affected Attribute Handle Range|u2 End of Affected Attribute Handle Range
        2a06 u1 Alert Level;=0:No Alert~Mild Alert~High Alert
        2a07 s1 Tx Power;#=dBm
        2a08 u2 Year;!0:?|u1 Month;!0:?|u1 Day;!0:?|u1 Hours|u1 Minutes|u1 Seconds
        2a09 u1 Day of Week;=0:Unknown~Monday~Tuesday~Wednesday~Thursday~Friday~Saturday~Sunday
        2a0a @2a08 Date Time|@2a09 Day of Week
        2a0c @2a0a Day Date Time|u1 Fractions256
        2a0d u1 DST Offset;=0:Standard Time~2:Half an hour Daylight Time (+ 0.5h)~4:Daylight Time (+ 1h)~8:Double Daylight Time (+ 2h)~255:DST offset unknown
        2a0e s1 Time Zone;!80:?
        2a0f @2a0e Time Zone|@2a0d DST Offset
        2a11 @2a08 Date Time|@2a0d DST Offset
        2a12 u1 Accuracy;#2703;p-3;!fe:drift is larger than 31.625s~ff:drift is unknown
        2a13 u1 Time Source;=0:Unknown~Network Time Protocol~GPS~Radio Time Signal~Manual~Atomic Clock~Cellular Network~Not Synchronized
        2a14 @2a13 Time Source|@2a12 Time Accuracy|u1 Days Since Update;!ff:the time span is greater than or equal to 255 days|u1 Hours Since Update;!ff:the time span is greater than or equal to 255 days
        2a16 u1 Time Update Control Point;=1:Get Reference Update~Cancel Reference Update
        2a17 u1 Current State;=0:Idle~Update Pending|u1 Result;=0:Successful~Cancelled~No connection to reference~Reference responded with an error~Timeout~Update not attempted after reset
        2a18 b1 Flags;&0:Time Offset Flag~Glucose Concentration and Type-Sample Location Flag~Glucose Units Flag~Sensor Status Annunciation Flag~Context Information Flag|u2 Sequence Number|@2a08 Base Time|s2 Time Offset;?0.0=1;#2760|m2 Glucose Concentration;?0.1=1,0.2=0;#27b1;e5|m2 Glucose Concentration;?0.1=1,0.2=1;#27b2;e3|%4 Type;?0.1=1;=1:Capillary Whole blood~Capillary Plasma~Venous Whole blood~Venous Plasma~Arterial Whole blood~Arterial Plasma~Undetermined Whole blood~Undetermined Plasma~Interstitial Fluid (ISF)~Control Solution|%4 Sample Location;?0.1=1;=1:Finger~Alternate Site Test (AST)~Earlobe~Control solution~15:Sample Location value not available|b2 Sensor Status Annunciation;?0.3=1;&0:Device battery low~Sensor malfunction~Sample size insufficient~Strip insertion error~Strip type incorrect~Sensor result too high~Sensor result too low~Sensor temperature too high~Sensor temperature too low~Sensor read interrupted~General device fault~Time fault
        2a19 u1 Battery Level;#27ad
        2a1c b1 Flags;&0:Temperature Units Flag~Time Stamp Flag~Temperature Type Flag|m4 Temperature Measurement Value (Celsius);?0.0=0;#272f|m4 Temperature Measurement Value (Fahrenheit);?0.0=1;#27ac|@2a08 Time Stamp;?0.1=1|@2a1d Temperature Type;?0.2=1
        2a1d u1 Temperature Type Description;=1:Armpit~Body (general)~Ear (usually earlobe)~Finger~Gastrointestinal Tract~Mouth~Rectum~Toe~Tympanum (ear drum)
        2a1e b1 Flags;&0:Temperature Units Flag~Time Stamp Flag~Temperature Type Flag|m4 Intermediate Temperature (Celsius);?0.0=0;#272f|m4 Intermediate Temperature (Fahrenheit);?0.0=1;#27ac|@2a08 Time Stamp;?0.1=1|@2a1d Temperature Type;?0.2=1
        2a21 u2 Measurement Interval;#2703;!0:No periodic measurement
        2a23 x8 EUI-64
        2a24 t Model Number
        2a25 t Serial Number
        2a26 t Firmware Revision
        2a27 t Hardware Revision
        2a28 t Software Revision
        2a29 t Manufacturer Name
        2a2a x IEEE 11073-20601 Regulatory Certification Data List
        2a2b @2a0c Exact Time 256|b1 Adjust Reason;&0:Manual Time Update~External Reference Time Update~Change of Time Zone~Change of DST
        2a2c u2 Magnetic Declination;#2763;e-2
        2a31 u1 Scan Refresh;=0:Server requires refresh
        2a34 b1 Flags;&0:Carbohydrates Flag~Meal Flag~Tester-Health Flag~Exercise Flag~Medication Flag~Medication Units Flag~HbA1c Flag~Extended Flags|u2 Sequence Number|b1 Extended Flags;?0.7=1|u1 Carbohydrate ID;?0.0=1;=1:Breakfast~Lunch~Dinner~Snack~Drink~Supper~Brunch|m2 Carbohydrate;?0.0=1;#2702|u1 Meal;?0.1=1;=1:Preprandial (before meal)~Postprandial (after meal)~Fasting~Casual (snacks, drinks, etc.)~Bedtime|%4 Tester;?0.2=1;=1:Self~Health Care Professional~Lab test~15:Tester value not available|%4 Health;?0.2=1;=1:Minor health issues~Major health issues~During menses~Under stress~No health issues~15:Health value not available|u2 Exercise Duration;?0.3=1;#2703;!ffff:Overrun|u1 Exercise Intensity;?0.3=1;#27ad|u1 Medication ID;?0.4=1;=1:Rapid acting insulin~Short acting insulin~Intermediate acting insulin~Long acting insulin~Pre-mixed insulin|m2 Medication;?0.4=1,0.5=0;#2702|m2 Medication;?0.4=1,0.5=1;#2767|m2 HbA1c;?0.6=1;#27ad
        2a35 b1 Flags;&0:Blood Pressure Units Flag~Time Stamp Flag~Pulse Rate Flag~User ID Flag~Measurement Status Flag|m2 Blood Pressure Measurement Compound Value - Systolic (mmHg);?0.0=0;#2781|m2 Blood Pressure Measurement Compound Value - Diastolic (mmHg);?0.0=0;#2781|m2 Blood Pressure Measurement Compound Value - Mean Arterial Pressure (mmHg);?0.0=0;#2781|m2 Blood Pressure Measurement Compound Value - Systolic (kPa);?0.0=1;#2724;e3|m2 Blood Pressure Measurement Compound Value - Diastolic (kPa);?0.0=1;#2724;e3|m2 Blood Pressure Measurement Compound Value - Mean Arterial Pressure (kPa);?0.0=1;#2724;e3|@2a08 Time Stamp;?0.1=1|m2 Pulse Rate;?0.2=1;#27af|u1 User ID;?0.3=1;!ff:Unknown User|b2 Measurement Status;?0.4=1;&0:Body Movement Detection Flag~Cuff Fit Detection Flag~Irregular Pulse Detection Flag~3-4:Pulse Rate Range Detection Flags^0:Pulse rate is within the range^Pulse rate exceeds upper limit^Pulse rate is less than lower limit~5:Measurement Position Detection Flag
        2a36 b1 Flags;&0:Intermediate Cuff Pressure Units Flag~Time Stamp Flag~Pulse Rate Flag~User ID Flag~Measurement Status Flag|m2 Intermediate Cuff Pressure Compound Value - Current Cuff Pressure (mmHg);?0.0=0;#2781|m2 Intermediate Cuff Pressure Compound Value - Current Cuff Pressure (kPa);?0.0=1;#2724;e3|m2 Intermediate Cuff Pressure Compound Value - Diastolic (unused)|m2 Intermediate Cuff Pressure Compound Value - Mean Arterial Pressure (unused)|@2a08 Time Stamp;?0.1=1|m2 Pulse Rate;?0.2=1;#27af|u1 User ID;?0.3=1;!ff:Unknown User|b2 Measurement Status;?0.4=1;&0:Body Movement Detection Flag~Cuff Fit Detection Flag~Irregular Pulse Detection Flag~3-4:Pulse Rate Range Detection Flags^0:Pulse rate is within the range^Pulse rate exceeds upper limit^Pulse rate is less than lower limit~5:Measurement Position Detection Flag
        2a37 b1 Flags;&0:Heart Rate Value Format~Sensor Contact detected~Sensor Contact Supported~Energy Expended present~RR-Interval present|u1 Heart Rate Measurement Value (8 bit resolution);?0.0=0;#27af|u2 Heart Rate Measurement Value (16 bit resolution);?0.0=1;#27af|u2 Energy Expended;?0.3=1;#2725;e3|u2* RR-interval;?0.4=1;#2703;p-10
        2a38 u1 Body Sensor Location;=0:Other~Chest~Wrist~Finger~Hand~Ear Lobe~Foot
        2a39 u1 Heart Rate Control Point;=1:Reset Energy Expended
        2a3f b1 Alert Status;&0:Ringer State~Vibrate State~Display Alert Status
        2a40 u1 Ringer Control Point;=1:Silent Mode~Mute Once~Cancel Silent Mode
        2a41 u1 Ringer Setting;=0:Ringer Silent~Ringer Normal
        2a42 b2 Category ID Bit Mask;&0:Simple Alert~Email~News~Call~Missed Call~SMS/MMS~Voice Mail~Schedule~High Prioritized Alert~Instant Message
        2a43 u1 Category ID;=0:Simple Alert~Email~News~Call~Missed Call~SMS/MMS~Voice Mail~Schedule~High Prioritized Alert~Instant Message
        2a44 u1 Command ID;=0:Enable New Incoming Alert Notification~Enable Unread Category Status Notification~Disable New Incoming Alert Notification~Disable Unread Category Status Notification~Notify New Incoming Alert immediately~Notify Unread Category Status immediately|@2a43 Category ID
        2a45 @2a43 Category ID|u1 Unread Count;!ff:there are more than 254 unread alerts in the server
        2a46 @2a43 Category ID|u1 Number of New Alert|t Text String Information
        2a47 b0 Category ID Bit Mask;&0:Simple Alert~Email~News~Call~Missed Call~SMS/MMS~Voice Mail~Schedule~High Prioritized Alert~Instant Message
        2a48 b0 Category ID Bit Mask;&0:Simple Alert~Email~News~Call~Missed Call~SMS/MMS~Voice Mail~Schedule~High Prioritized Alert~Instant Message
        2a49 b2 Blood Pressure Feature;&0:Body Movement Detection Support~Cuff Fit Detection Support~Irregular Pulse Detection Support~Pulse Rate Range Detection Support~Measurement Position Detection Support~Multiple Bond Support~E2E-CRC Support~User Data Service Support~User Facing Time Support
        2a4a u2 bcdHID|u1 Country Code|b1 Flags;&0:Remote Wake~Normally Connectable
        2a4b x Report Map
        2a4c u1 HID Control Point;=0:Suspend~Exit Suspend
        2a4e u1 Protocol Mode;=0:Boot Protocol Mode~Report Protocol Mode
        2a4f u2 Scan Interval;#2703;*625;e-6|u2 Scan Window;#2703;*625;e-6
        2a50 u1 Vendor ID Source;=1:Assigned Company Identifier value from the Bluetooth SIG Assigned Numbers~USB Implementer's Forum assigned Vendor ID value|u2 Vendor ID|u2 Product ID|u2 Product Version
        2a51 b2 Glucose Feature;&0:Low Battery Detection During Measurement support bit~Sensor Malfunction Detection support bit~Sensor Sample Size support bit~Sensor Strip Insertion Error Detection support bit~Sensor Strip Type Error Detection support bit~Sensor Result High-Low Detection support bit~Sensor Temperature High-Low Detection support bit~Sensor Read Interrupt Detection support bit~General Device Fault support bit~Time Fault support bit~Multiple Bond support bit
        2a52 u1 Op Code;=1:Report stored records~Delete stored records~Abort operation~Report number of stored records~Number of stored records response~Response Code~Combined Report~Combined Report Response|u1 Operator;=0:Null~All records~Less than or equal to~Greater than or equal to~Within range of (inclusive)~First record (i.e., oldest record)~Last record (i.e., most recent record)|x Operand
        2a53 b1 Flags;&0:Instantaneous Stride Length Present~Total Distance Present~Walking or Running Status|u2 Instantaneous Speed;#2712;p-8|u1 Instantaneous Cadence;#=1/min|u2 Instantaneous Stride Length;?0.0=1;#2701;e-2|u4 Total Distance;?0.1=1;#2701;e-1
        2a54 b2 RSC Feature;&0:Instantaneous Stride Length Measurement Supported~Total Distance Measurement Supported~Walking or Running Status Supported~Calibration Procedure Supported~Multiple Sensor Locations Supported
        2a55 u1 Op Code;=1:Set Cumulative Value~Start Sensor Calibration~Update Sensor Location~Request Supported Sensor Locations~16:Response Code|x Parameter
        2a5b b1 Flags;&0:Wheel Revolution Data Present~Crank Revolution Data Present|u4 Cumulative Wheel Revolutions;?0.0=1|u2 Last Wheel Event Time;?0.0=1;#2703;p-10|u2 Cumulative Crank Revolutions;?0.1=1|u2 Last Crank Event Time;?0.1=1;#2703;p-10
        2a5c b2 CSC Feature;&0:Wheel Revolution Data Supported~Crank Revolution Data Supported~Multiple Sensor Locations Supported
        2a5d u1 Sensor Location;=0:Other~Top of shoe~In shoe~Hip~Front Wheel~Left Crank~Right Crank~Left Pedal~Right Pedal~Front Hub~Rear Dropout~Chainstay~Rear Wheel~Rear Hub~Chest~Spider~Chain Ring
        2a5e b1 Flags;&0:Timestamp field is present~Measurement Status Field Present~Device and Sensor Status Field Present~Pulse Amplitude Index field is present~Device Clock is Not Set|m2 SpO2;#27ad|m2 PR;#27af|@2a08 Timestamp;?0.0=1|b2 Measurement Status;?0.1=1;&5:Measurement Ongoing~Early Estimated Data~Validated Data~Fully Qualified Data~Data from Measurement Storage~Data for Demonstration~Data for Testing~Calibration Ongoing~Measurement Unavailable~Questionable Measurement Detected~Invalid Measurement Detected|b3 Device and Sensor Status;?0.2=1;&0:Extended Display Update Ongoing~Equipment Malfunction Detected~Signal Processing Irregularity Detected~Inadequate Signal Detected~Poor Signal Detected~Low Perfusion Detected~Erratic Signal Detected~Nonpulsatile Signal Detected~Questionable Pulse Detected~Signal Analysis Ongoing~Sensor Interference Detected~Sensor Unconnected to User~Unknown Sensor Connected~Sensor Displaced~Sensor Malfunctioning~Sensor Disconnected|m2 Pulse Amplitude Index;?0.3=1;#27ad
        2a5f b1 Flags;&0:SpO2PR-Fast field is present~SpO2PR-Slow field is present~Measurement Status field is present~Device and Sensor Status field is present~Pulse Amplitude Index field is present|m2 SpO2 Normal;#27ad|m2 PR Normal;#27af|m2 SpO2 Fast;?0.0=1;#27ad|m2 PR Fast;?0.0=1;#27af|m2 SpO2 Slow;?0.1=1;#27ad|m2 PR Slow;?0.1=1;#27af|b2 Measurement Status;?0.2=1;&5:Measurement Ongoing~Early Estimated Data~Validated Data~Fully Qualified Data~Data from Measurement Storage~Data for Demonstration~Data for Testing~Calibration Ongoing~Measurement Unavailable~Questionable Measurement Detected~Invalid Measurement Detected|b3 Device and Sensor Status;?0.3=1;&0:Extended Display Update Ongoing~Equipment Malfunction Detected~Signal Processing Irregularity Detected~Inadequate Signal Detected~Poor Signal Detected~Low Perfusion Detected~Erratic Signal Detected~Nonpulsatile Signal Detected~Questionable Pulse Detected~Signal Analysis Ongoing~Sensor Interference Detected~Sensor Unconnected to User~Unknown Sensor Connected~Sensor Displaced~Sensor Malfunctioning~Sensor Disconnected|m2 Pulse Amplitude Index;?0.4=1;#27ad
        2a60 b2 Supported Features;&0:Measurement Status Support~Device and Sensor Status Support~Measurement Storage for Spot-check measurements~Timestamp for Spot-check measurements~SpO2PR-Fast metric~SpO2PR-Slow metric~Pulse Amplitude Index field~Multiple Bonds|b2 Measurement Status Support;?0.0=1;&5:Measurement Ongoing~Early Estimated Data~Validated Data~Fully Qualified Data~Data from Measurement Storage~Data for Demonstration~Data for Testing~Calibration Ongoing~Measurement Unavailable~Questionable Measurement Detected~Invalid Measurement Detected|b3 Device and Sensor Status Support;?0.1=1;&0:Extended Display Update Ongoing~Equipment Malfunction Detected~Signal Processing Irregularity Detected~Inadequate Signal Detected~Poor Signal Detected~Low Perfusion Detected~Erratic Signal Detected~Nonpulsatile Signal Detected~Questionable Pulse Detected~Signal Analysis Ongoing~Sensor Interference Detected~Sensor Unconnected to User~Unknown Sensor Connected~Sensor Displaced~Sensor Malfunctioning~Sensor Disconnected
        2a63 b2 Flags;&0:Pedal Power Balance Present~Pedal Power Balance Reference~Accumulated Torque Present~Accumulated Torque Source~Wheel Revolution Data Present~Crank Revolution Data Present~Extreme Force Magnitudes Present~Extreme Torque Magnitudes Present~Extreme Angles Present~Top Dead Spot Angle Present~Bottom Dead Spot Angle Present~Accumulated Energy Present~Offset Compensation Indicator|s2 Instantaneous Power;#2726|u1 Pedal Power Balance;?0.0=1;#27ad;p-1|u2 Accumulated Torque;?0.2=1;#2741;p-5|u4 Cumulative Wheel Revolutions;?0.4=1|u2 Last Wheel Event Time;?0.4=1;#2703;p-11|u2 Cumulative Crank Revolutions;?0.5=1|u2 Last Crank Event Time;?0.5=1;#2703;p-10|s2 Maximum Force Magnitude;?0.6=1;#2723|s2 Minimum Force Magnitude;?0.6=1;#2723|s2 Maximum Torque Magnitude;?0.7=1;#2741;p-5|s2 Minimum Torque Magnitude;?0.7=1;#2741;p-5|%12 Maximum Angle;?0.8=1;#2763|%12 Minimum Angle;?0.8=1;#2763|u2 Top Dead Spot Angle;?0.9=1;#2763|u2 Bottom Dead Spot Angle;?0.10=1;#2763|u2 Accumulated Energy;?0.11=1;#2725;e3
        2a64 b1 Flags;&0:Crank Revolution Data Present~First Crank Measurement Angle Present~Instantaneous Force Magnitude Array Present~Instantaneous Torque Magnitude Array Present~4-5:Instantaneous Measurement Direction^0:Unknown^Tangential Component^Radial Component^Lateral Component|u2 Cumulative Crank Revolutions;?0.0=1|u2 Last Crank Event Time;?0.0=1;#2703;p-10|u2 First Crank Measurement Angle;?0.1=1;#2763|s2* Instantaneous Force Magnitude Array;?0.2=1;#2723|s2* Instantaneous Torque Magnitude Array;?0.3=1;#2741;p-5
        2a65 b4 Cycling Power Feature;&0:Pedal Power Balance Supported~Accumulated Torque Supported~Wheel Revolution Data Supported~Crank Revolution Data Supported~Extreme Magnitudes Supported~Extreme Angles Supported~Top and Bottom Dead Spot Angles Supported~Accumulated Energy Supported~Offset Compensation Indicator Supported~Offset Compensation Supported~Cycling Power Measurement Characteristic Content Masking Supported~Multiple Sensor Locations Supported~Crank Length Adjustment Supported~Chain Length Adjustment Supported~Chain Weight Adjustment Supported~Span Length Adjustment Supported~Sensor Measurement Context~Instantaneous Measurement Direction Supported~Factory Calibration Date Supported~Enhanced Offset Compensation Procedure Supported~20-21:Distributed System Support^0:Unspecified (Legacy Sensor)^Not for use in a distributed system^For use in a distributed system
        2a66 u1 Op Code;=1:Set Cumulative Value~Update Sensor Location~Request Supported Sensor Locations~Set Crank Length~Request Crank Length~Set Chain Length~Request Chain Length~Set Chain Weight~Request Chain Weight~Set Span Length~Request Span Length~Start Offset Compensation~Mask Cycling Power Measurement Characteristic Content~Request Sampling Rate~Request Factory Calibration Date~Start Enhanced Offset Compensation~32:Response Code|x Parameter
        2a67 b2 Flags;&0:Instantaneous Speed Present~Total Distance Present~Location Present~Elevation Present~Heading Present~Rolling Time Present~UTC Time Present~7-8:Position Status^0:No Position^Position Ok^Estimated Position^Last Known Position~9:Speed and Distance format~10-11:Elevation Source^0:Positioning System^Barometric Air Pressure^Database Service (or similar)^Other~12:Heading Source|u2 Instantaneous Speed;?0.0=1;#2712;e-2|u3 Total Distance;?0.1=1;#2701;e-1|s4 Location - Latitude;?0.2=1;#2763;e-7|s4 Location - Longitude;?0.2=1;#2763;e-7|s3 Elevation;?0.3=1;#2701;e-2|u2 Heading;?0.4=1;#2763;e-2|u1 Rolling Time;?0.5=1;#2703|@2a08 UTC Time;?0.6=1
        2a68 b2 Flags;&0:Remaining Distance Present~Remaining Vertical Distance Present~Estimated Time of Arrival Present~3-4:Position Status^0:No Position^Position Ok^Estimated Position^Last Known Position~5:Heading Source~Navigation Indicator Type~Waypoint Reached~Destination Reached|u2 Bearing;#2763;e-2|u2 Heading;#2763;e-2|u3 Remaining Distance;?0.0=1;#2701;e-1|s3 Remaining Vertical Distance;?0.1=1;#2701;e-2|@2a08 Estimated Time of Arrival;?0.2=1
        2a69 b2 Flags;&0:Number of Beacons in Solution Present~Number of Beacons in View Present~Time to First Fix Present~EHPE Present~EVPE Present~HDOP Present~VDOP Present~7-8:Position Status^0:No Position^Position Ok^Estimated Position^Last Known Position|u1 Number of Beacons in Solution;?0.0=1|u1 Number of Beacons in View;?0.1=1|u2 Time to First Fix;?0.2=1;#2703;e-1|u4 EHPE;?0.3=1;#2701;e-2|u4 EVPE;?0.4=1;#2701;e-2|u1 HDOP;?0.5=1;*2;e-1|u1 VDOP;?0.6=1;*2;e-1
        2a6a b4 LN Feature;&0:Instantaneous Speed Supported~Total Distance Supported~Location Supported~Elevation Supported~Heading Supported~Rolling Time Supported~UTC Time Supported~Remaining Distance Supported~Remaining Vertical Distance Supported~Estimated Time of Arrival Supported~Number of Beacons in Solution Supported~Number of Beacons in View Supported~Time to First Fix Supported~Estimated Horizontal Position Error Supported~Estimated Vertical Position Error Supported~Horizontal Dilution of Precision Supported~Vertical Dilution of Precision Supported~Location and Speed Characteristic Content Masking Supported~Fix Rate Setting Supported~Elevation Setting Supported~Position Status Supported
        2a6b u1 Op Code;=1:Set Cumulative Value~Mask Location and Speed Characteristic Content~Navigation Control~Request Number of Routes~Request Name of Route~Select Route~Set Fix Rate~Set Elevation~32:Response Code|x Parameter
        2a6c s3 Elevation;#2701;e-2
        2a6d u4 Pressure;#2724;e-1
        2a6e s2 Temperature;#272f;e-2;[-27315,32767;!8000:?
        2a6f u2 Humidity;#27ad;e-2;[0,10000;!ffff:?
        2a70 u2 True Wind Speed;#2712;e-2
        2a71 u2 True Wind Direction;#2763;e-2
        2a72 u2 Apparent Wind Speed;#2712;e-2
        2a73 u2 Apparent Wind Direction;#2763;e-2
        2a74 u1 Gust Factor;e-1
        2a75 u3 Pollen Concentration;#27b5
        2a76 u1 UV Index
        2a77 u2 Irradiance;#27b6;e-1
        2a78 u2 Rainfall;#2701;e-3
        2a79 s1 Wind Chill;#272f
        2a7a s1 Heat Index;#272f
        2a7b s1 Dew Point;#272f
        2a7e u1 Aerobic Heart Rate Lower Limit;#27af
        2a7f u1 Aerobic Threshold;#27af
        2a80 u1 Age;#27b3
        2a81 u1 Anaerobic Heart Rate Lower Limit;#27af
        2a82 u1 Anaerobic Heart Rate Upper Limit;#27af
        2a83 u1 Anaerobic Threshold;#27af
        2a84 u1 Aerobic Heart Rate Upper Limit;#27af
        2a85 u2 Year;#27b3;!0:?|u1 Month;=0:Month is not known~January~February~March~April~May~June~July~August~September~October~November~December|u1 Day;#2762;!0:?
        2a86 u2 Year;#27b3;!0:?|u1 Month;=0:Month is not known~January~February~March~April~May~June~July~August~September~October~November~December|u1 Day;#2762;!0:?
        2a87 t Email Address
        2a88 u1 Fat Burn Heart Rate Lower Limit;#27af
        2a89 u1 Fat Burn Heart Rate Upper Limit;#27af
        2a8a t First Name
        2a8b u1 Five Zone Heart Rate Limits - Very Light / Light Limit;#27af|u1 Five Zone Heart Rate Limits - Light / Moderate Limit;#27af|u1 Five Zone Heart Rate Limits - Moderate / Hard Limit;#27af|u1 Five Zone Heart Rate Limits - Hard / Maximum Limit;#27af
        2a8c u1 Gender;=0:Male~Female~Unspecified
        2a8d u1 Heart Rate Max;#27af
        2a8e u2 Height;#2701;e-2
        2a8f u2 Hip Circumference;#2701;e-2
        2a90 t Last Name
        2a91 u1 Maximum Recommended Heart Rate;#27af
        2a92 u1 Resting Heart Rate;#27af
        2a93 u1 Sport Type for Aerobic and Anaerobic Thresholds;=0:Unspecified~Running (Treadmill)~Cycling (Ergometer)~Rowing (Ergometer)~Cross Training (Elliptical)~Climbing~Skiing~Skating~Arm exercising~Lower body exercising~Upper body exercising~Whole body exercising
        2a94 u1 Three Zone Heart Rate Limits - Light (Fat burn) / Moderate (Aerobic) Limit;#27af|u1 Three Zone Heart Rate Limits - Moderate (Aerobic) / Hard (Anaerobic) Limit;#27af
        2a95 u1 Two Zone Heart Rate Limit - Fat Burn / Fitness Limit;#27af
        2a96 u1 VO2 Max;#27b7
        2a97 u2 Waist Circumference;#2701;e-2
        2a98 u2 Weight;#2702;*5;e-3
        2a99 u4 Database Change Increment
        2a9a u1 User Index;!ff:Unknown User
        2a9b b4 Body Composition Feature;&0:Time Stamp Supported~Multiple Users Supported~Basal Metabolism Supported~Muscle Percentage Supported~Muscle Mass Supported~Fat Free Mass Supported~Soft Lean Mass Supported~Body Water Mass Supported~Impedance Supported~Weight Supported~Height Supported~11-14:Weight Measurement Resolution^0:Not specified^Resolution of 0.5 kg or 1 lb^Resolution of 0.2 kg or 0.5 lb^Resolution of 0.1 kg or 0.2 lb^Resolution of 0.05 kg or 0.1 lb^Resolution of 0.02 kg or 0.05 lb^Resolution of 0.01 kg or 0.02 lb^Resolution of 0.005 kg or 0.01 lb~15-17:Height Measurement Resolution^0:Not specified^Resolution of 0.01 meter or 1 inch^Resolution of 0.005 meter or 0.5 inch^Resolution of 0.001 meter or 0.1 inch
        2a9c b2 Flags;&0:Measurement Units~Time Stamp present~User ID present~Basal Metabolism present~Muscle Percentage present~Muscle Mass present~Fat Free Mass present~Soft Lean Mass present~Body Water Mass present~Impedance present~Weight present~Height present~Multiple Packet Measurement|u2 Body Fat Percentage;#27ad;e-1|@2a08 Time Stamp;?0.1=1|u1 User ID;?0.2=1;!ff:unknown user|u2 Basal Metabolism;?0.3=1;#2725;e3|u2 Muscle Percentage;?0.4=1;#27ad;e-1|u2 Muscle Mass;?0.5=1,0.0=0;#2702;*5;e-3|u2 Muscle Mass;?0.5=1,0.0=1;#27b8;e-2|u2 Fat Free Mass;?0.6=1,0.0=0;#2702;*5;e-3|u2 Fat Free Mass;?0.6=1,0.0=1;#27b8;e-2|u2 Soft Lean Mass;?0.7=1,0.0=0;#2702;*5;e-3|u2 Soft Lean Mass;?0.7=1,0.0=1;#27b8;e-2|u2 Body Water Mass;?0.8=1,0.0=0;#2702;*5;e-3|u2 Body Water Mass;?0.8=1,0.0=1;#27b8;e-2|u2 Impedance;?0.9=1;#272a;e-1|u2 Weight;?0.10=1,0.0=0;#2702;*5;e-3|u2 Weight;?0.10=1,0.0=1;#27b8;e-2|u2 Height;?0.11=1,0.0=0;#2701;e-3|u2 Height;?0.11=1,0.0=1;#27a2;e-1
        2a9d b1 Flags;&0:Measurement Units~Time Stamp present~User ID present~BMI and Height present|u2 Weight;?0.0=0;#2702;*5;e-3|u2 Weight;?0.0=1;#27b8;e-2|@2a08 Time Stamp;?0.1=1|u1 User ID;?0.2=1;!ff:unknown user|u2 BMI;?0.3=1;#2716;e-1|u2 Height;?0.3=1,0.0=0;#2701;e-3|u2 Height;?0.3=1,0.0=1;#27a2;e-1
        2a9e b4 Weight Scale Feature;&0:Time Stamp Supported~Multiple Users Supported~BMI Supported~3-6:Weight Measurement Resolution^0:Not specified^Resolution of 0.5 kg or 1 lb^Resolution of 0.2 kg or 0.5 lb^Resolution of 0.1 kg or 0.2 lb^Resolution of 0.05 kg or 0.1 lb^Resolution of 0.02 kg or 0.05 lb^Resolution of 0.01 kg or 0.02 lb^Resolution of 0.005 kg or 0.01 lb~7-9:Height Measurement Resolution^0:Not specified^Resolution of 0.01 meter or 1 inch^Resolution of 0.005 meter or 0.5 inch^Resolution of 0.001 meter or 0.1 inch
        2aa0 s2 X-Axis;#272d;e-7|s2 Y-Axis;#272d;e-7
        2aa1 s2 X-Axis;#272d;e-7|s2 Y-Axis;#272d;e-7|s2 Z-Axis;#272d;e-7
        2aa2 t Language
        2aa3 u1 Barometric Pressure Trend;=0:Unknown~Continuously falling~Continuously rising~Falling, then steady~Rising, then steady~Falling before a lesser rise~Falling before a greater rise~Rising before a greater fall~Rising before a lesser fall~Steady
        2aa5 b0 Bond Management Feature;&0:Delete bond of requesting device (BR/EDR/LE)~Authorization code required for it~Delete bond of requesting device (BR/EDR)~Authorization code required for it~Delete bond of requesting device (LE)~Authorization code required for it~Remove all bonds (BR/EDR/LE)~Authorization code required for it~Remove all bonds (BR/EDR)~Authorization code required for it~Remove all bonds (LE)~Authorization code required for it
        2aa6 u1 Central Address Resolution;=0:Not supported~Supported
        2aa7 *u1 Size|b1 Flags;&0:CGM Trend Information present~CGM Quality present~5:Sensor Status Annunciation field, Warning-Octet present~Sensor Status Annunciation field, Cal/Temp-Octet present~Sensor Status Annunciation field, Status-Octet present|m2 CGM Glucose Concentration;#27b1|u2 Time Offset;#2760|b1 Status;?1.7=1;&0:Session stopped~Device battery low~Sensor type incorrect for device~Sensor malfunction~Device Specific Alert~General device fault has occurred in the sensor|b1 Cal/Temp;?1.6=1;&0:Time synchronization between sensor and collector required~Calibration not allowed~Calibration recommended~Calibration required~Sensor temperature too high for valid test/result at time of measurement~Sensor temperature too low for valid test/result at time of measurement~Calibration Process Pending|b1 Warning;?1.5=1;&0:Sensor result lower than the Patient Low level~Sensor result higher than the Patient High level~Sensor result lower than the Hypo level~Sensor result higher than the Hyper level~Sensor Rate of Decrease exceeded~Sensor Rate of Increase exceeded~Sensor result lower than the device can process~Sensor result higher than the device can process|m2 CGM Trend Information;?1.0=1;#27c6|m2 CGM Quality;?1.1=1;#27ad|u2 E2E-CRC;?
        2aa8 b3 CGM Feature;&0:Calibration supported~Patient High/Low Alerts supported~Hypo Alerts supported~Hyper Alerts supported~Rate of Increase/Decrease Alerts supported~Device Specific Alert supported~Sensor Malfunction Detection supported~Sensor Temperature High-Low Detection supported~Sensor Result High-Low Detection supported~Low Battery Detection supported~Sensor Type Error Detection supported~General Device Fault supported~E2E-CRC supported~Multiple Bond supported~Multiple Sessions supported~CGM Trend Information supported~CGM Quality supported|%4 Type;=1:Capillary Whole blood~Capillary Plasma~Venous Whole blood~Venous Plasma~Arterial Whole blood~Arterial Plasma~Undetermined Whole blood~Undetermined Plasma~Interstitial Fluid (ISF)~Control Solution|%4 Sample Location;=1:Finger~Alternate Site Test (AST)~Earlobe~Control solution~Subcutaneous tissue~15:Sample Location value not available|u2 E2E-CRC
        2aa9 u2 Time Offset|b3 CGM Status;&0:Session stopped~Device battery low~Sensor type incorrect for device~Sensor malfunction~Device Specific Alert~General device fault has occurred in the sensor~8:Time synchronization between sensor and collector required~Calibration not allowed~Calibration recommended~Calibration required~Sensor temperature too high for valid test/result at time of measurement~Sensor temperature too low for valid test/result at time of measurement~Calibration Process Pending~16:Sensor result lower than the Patient Low level~Sensor result higher than the Patient High level~Sensor result lower than the Hypo level~Sensor result higher than the Hyper level~Sensor Rate of Decrease exceeded~Sensor Rate of Increase exceeded~Sensor result lower than the device can process~Sensor result higher than the device can process|u2 E2E-CRC;?
        2aaa @2a08 Session Start Time|@2a0e Time Zone|@2a0d DST Offset|u2 E2E-CRC;?
        2aab u2 CGM Session Run Time;#2761|u2 E2E-CRC;?
        2aac u1 Op Code;=1:Set CGM Communication Interval~Get CGM Communication Interval~CGM Communication Interval response~Set Glucose Calibration value~Get Glucose Calibration Value~Glucose Calibration Value response~Set Patient High Alert Level~Get Patient High Alert Level~Patient High Alert Level Response~Set Patient Low Alert Level~Get Patient Low Alert Level~Patient Low Alert Level Response~Set Hypo Alert Level~Get Hypo Alert Level~Hypo Alert Level Response~Set Hyper Alert Level~Get Hyper Alert Level~Hyper Alert Level Response~Set Rate of Decrease Alert Level~Get Rate of Decrease Alert Level~Rate of Decrease Alert Level Response~Set Rate of Increase Alert Level~Get Rate of Increase Alert Level~Rate of Increase Alert Level Response~Reset Device Specific Alert~Start the Session~Stop the Session~Response Code|x Operand
        2abe t Object Name
        2abf g Object Type
        2ac1 @2a08 Object First Created
        2ac2 @2a08 Object Last Modified
        2ac3 u6 Object ID
        2ac9 u1 Resolvable Private Address Only;=0:Only resolvable private addresses
        2acc b4 Fitness Machine Features;&0:Average Speed~Cadence~Total Distance~Inclination~Elevation Gain~Pace~Step Count~Resistance Level~Stride Count~Expended Energy~Heart Rate Measurement~Metabolic Equivalent~Elapsed Time~Remaining Time~Power Measurement~Force on Belt and Power Output~User Data Retention|b4 Target Setting Features;&0:Speed Target Setting~Inclination Target Setting~Resistance Target Setting~Power Target Setting~Heart Rate Target Setting~Targeted Expended Energy Configuration~Targeted Step Number Configuration~Targeted Stride Number Configuration~Targeted Distance Configuration~Targeted Training Time Configuration~Targeted Time in Two Heart Rate Zones Configuration~Targeted Time in Three Heart Rate Zones Configuration~Targeted Time in Five Heart Rate Zones Configuration~Indoor Bike Simulation Parameters~Wheel Circumference Configuration~Spin Down Control~Targeted Cadence Configuration
        2acd b2 Flags;&0:More Data~Average Speed present~Total Distance present~Inclination and Ramp Angle Setting present~Elevation Gain present~Instantaneous Pace present~Average Pace present~Expended Energy present~Heart Rate present~Metabolic Equivalent present~Elapsed Time present~Remaining Time present~Force On Belt and Power Output present|u2 Instantaneous Speed;?0.0=0;#27a6;e-2|u2 Average Speed;?0.1=1;#27a6;e-2|u3 Total Distance;?0.2=1;#2701|s2 Inclination;?0.3=1;#27ad;e-1|s2 Ramp Angle Setting;?0.3=1;#2763;e-1|u2 Positive Elevation Gain;?0.4=1;#2701;e-1|u2 Negative Elevation Gain;?0.4=1;#2701;e-1|u2 Instantaneous Pace (Time per 500 meters);?0.5=1;#2703|u2 Average Pace (Time per 500 meters);?0.6=1;#2703|u2 Total Energy;?0.7=1;#27aa|u2 Energy Per Hour;?0.7=1;#27aa|u1 Energy Per Minute;?0.7=1;#27aa|u1 Heart Rate;?0.8=1;#27af|u1 Metabolic Equivalent;?0.9=1;#27b9;e-1|u2 Elapsed Time;?0.10=1;#2703|u2 Remaining Time;?0.11=1;#2703|s2 Force On Belt;?0.12=1;#2723|s2 Power Output;?0.12=1;#2726
        2ace b3 Flags;&0:More Data~Average Speed present~Total Distance present~Step Count present~Stride Count present~Elevation Gain present~Inclination and Ramp Angle Setting present~Resistance Level present~Instantaneous Power present~Average Power present~Expended Energy present~Heart Rate present~Metabolic Equivalent present~Elapsed Time present~Remaining Time present~Movement Direction|u2 Instantaneous Speed;?0.0=0;#27a6;e-2|u2 Average Speed;?0.1=1;#27a6;e-2|u3 Total Distance;?0.2=1;#2701|u2 Steps Per Minute;?0.3=1;#27ba|u2 Average Step Rate;?0.3=1;#27ba|u2 Stride Count;?0.4=1;e-1|u2 Positive Elevation Gain;?0.5=1;#2701|u2 Negative Elevation Gain;?0.5=1;#2701|s2 Inclination;?0.6=1;#27ad;e-1|s2 Ramp Setting;?0.6=1;#2763;e-1|u1 Resistance Level;?0.7=1|s2 Instantaneous Power;?0.8=1;#2726|s2 Average Power;?0.9=1;#2726|u2 Total Energy;?0.10=1;#27aa|u2 Energy Per Hour;?0.10=1;#27aa|u1 Energy Per Minute;?0.10=1;#27aa|u1 Heart Rate;?0.11=1;#27af|u1 Metabolic Equivalent;?0.12=1;#27b9;e-1|u2 Elapsed Time;?0.13=1;#2703|u2 Remaining Time;?0.14=1;#2703
        2acf b2 Flags;&0:More Data~Steps Per Minute present~Average Step Rate present~Positive Elevation Gain present~Expended Energy present~Heart Rate present~Metabolic Equivalent present~Elapsed Time present~Remaining Time present|u2 Floors;?0.0=0|u2 Step Count;?0.0=0|u2 Steps Per Minute;?0.1=1;#27ba|u2 Average Step Rate;?0.2=1;#27ba|u2 Positive Elevation Gain;?0.3=1;#2701|u2 Total Energy;?0.4=1;#27aa|u2 Energy Per Hour;?0.4=1;#27aa|u1 Energy Per Minute;?0.4=1;#27aa|u1 Heart Rate;?0.5=1;#27af|u1 Metabolic Equivalent;?0.6=1;#27b9;e-1|u2 Elapsed Time;?0.7=1;#2703|u2 Remaining Time;?0.8=1;#2703
        2ad0 b2 Flags;&0:More Data~Steps Per Minute present~Average Step Rate present~Positive Elevation Gain present~Stride Count present~Expended Energy present~Heart Rate present~Metabolic Equivalent present~Elapsed Time present~Remaining Time present|u2 Floors;?0.0=0|u2 Steps Per Minute;?0.1=1;#27ba|u2 Average Step Rate;?0.2=1;#27ba|u2 Positive Elevation Gain;?0.3=1;#2701|u2 Stride Count;?0.4=1|u2 Total Energy;?0.5=1;#27aa|u2 Energy Per Hour;?0.5=1;#27aa|u1 Energy Per Minute;?0.5=1;#27aa|u1 Heart Rate;?0.6=1;#27af|u1 Metabolic Equivalent;?0.7=1;#27b9;e-1|u2 Elapsed Time;?0.8=1;#2703|u2 Remaining Time;?0.9=1;#2703
        2ad1 b2 Flags;&0:More Data~Average Stroke rate present~Total Distance present~Instantaneous Pace present~Average Pace present~Instantaneous Power present~Average Power present~Resistance Level present~Expended Energy present~Heart Rate present~Metabolic Equivalent present~Elapsed Time present~Remaining Time present|u1 Stroke Rate;?0.0=0;#27bc;p-1|u2 Stroke Count;?0.0=0|u1 Average Stroke Rate;?0.1=1;#27bc;p-1|u3 Total Distance;?0.2=1;#2701|u2 Instantaneous Pace (Time per 500 meters);?0.3=1;#2703|u2 Average Pace (Time per 500 meters);?0.4=1;#2703|s2 Instantaneous Power;?0.5=1;#2726|s2 Average Power;?0.6=1;#2726|u1 Resistance Level;?0.7=1|u2 Total Energy;?0.8=1;#27aa|u2 Energy Per Hour;?0.8=1;#27aa|u1 Energy Per Minute;?0.8=1;#27aa|u1 Heart Rate;?0.9=1;#27af|u1 Metabolic Equivalent;?0.10=1;#27b9;e-1|u2 Elapsed Time;?0.11=1;#2703|u2 Remaining Time;?0.12=1;#2703
        2ad2 b2 Flags;&0:More Data~Average Speed present~Instantaneous Cadence present~Average Cadence present~Total Distance present~Resistance Level present~Instantaneous Power present~Average Power present~Expended Energy present~Heart Rate present~Metabolic Equivalent present~Elapsed Time present~Remaining Time present|u2 Instantaneous Speed;?0.0=0;#27a6;e-2|u2 Average Speed;?0.1=1;#27a6;e-2|u2 Instantaneous Cadence;?0.2=1;#27a8;p-1|u2 Average Cadence;?0.3=1;#27a8;p-1|u3 Total Distance;?0.4=1;#2701|u1 Resistance Level;?0.5=1|s2 Instantaneous Power;?0.6=1;#2726|s2 Average Power;?0.7=1;#2726|u2 Total Energy;?0.8=1;#27aa|u2 Energy Per Hour;?0.8=1;#27aa|u1 Energy Per Minute;?0.8=1;#27aa|u1 Heart Rate;?0.9=1;#27af|u1 Metabolic Equivalent;?0.10=1;#27b9;e-1|u2 Elapsed Time;?0.11=1;#2703|u2 Remaining Time;?0.12=1;#2703
        2ad3 b1 Flags;&0:Training Status String present~Extended String present|u1 Training Status;=0:Other~Idle~Warming Up~Low Intensity Interval~High Intensity Interval~Recovery Interval~Isometric~Heart Rate Control~Fitness Test~Speed Outside of Control Region - Low~Speed Outside of Control Region - High~Cool Down~Watt Control~Manual Mode (Quick Start)~Pre-Workout~Post-Workout|t Training Status String;?0.0=1
        2ad4 u2 Minimum Speed;#27a6;e-2|u2 Maximum Speed;#27a6;e-2|u2 Minimum Increment;#27a6;e-2
        2ad5 s2 Minimum Inclination;#27ad;e-1|s2 Maximum Inclination;#27ad;e-1|u2 Minimum Increment;#27ad;e-1
        2ad6 u1 Minimum Resistance Level|u1 Maximum Resistance Level|u1 Minimum Increment
        2ad7 u1 Minimum Heart Rate;#27af|u1 Maximum Heart Rate;#27af|u1 Minimum Increment;#27af
        2ad8 s2 Minimum Power;#2726|s2 Maximum Power;#2726|u2 Minimum Increment;#2726
        2ad9 u1 Op Code;=0:Request Control~Reset~Set Target Speed~Set Target Inclination~Set Target Resistance Level~Set Target Power~Set Target Heart Rate~Start or Resume~Stop or Pause~Set Targeted Expended Energy~Set Targeted Number of Steps~Set Targeted Number of Strides~Set Targeted Distance~Set Targeted Training Time~Set Targeted Time in Two Heart Rate Zones~Set Targeted Time in Three Heart Rate Zones~Set Targeted Time in Five Heart Rate Zones~Set Indoor Bike Simulation Parameters~Set Wheel Circumference~Spin Down Control~Set Targeted Cadence~128:Response Code|x Parameter
        2ada u1 Op Code;=1:Reset~Stopped or Paused by the User~Stopped by Safety Key~Started or Resumed by the User~Target Speed Changed~Target Incline Changed~Target Resistance Level Changed~Target Power Changed~Target Heart Rate Changed~Targeted Expended Energy Changed~Targeted Number of Steps Changed~Targeted Number of Strides Changed~Targeted Distance Changed~Targeted Training Time Changed~Targeted Time in Two Heart Rate Zones Changed~Targeted Time in Three Heart Rate Zones Changed~Targeted Time in Five Heart Rate Zones Changed~Indoor Bike Simulation Parameters Changed~Wheel Circumference Changed~Spin Down Status~Targeted Cadence Changed~255:Control Permission Lost|x Parameter
        2ae0 @2aee Electric Current Value|@2b13 Sensing Duration
        2ae1 @2b18 Voltage Value|@2b13 Sensing Duration
        2ae2 u1 Boolean;[0,1;=0:False~True
        2ae3 s2 Distance from Planckian;e-5;[-5000,5000;!7fff:-~7ffe:?
        2ae4 @2b1c Chromaticity x-coordinate|@2b1c Chromaticity y-coordinate
        2ae5 @2ae9 Correlated Color Temperature|@2ae3 Chromaticity Distance from Planckian
        2ae6 u1 Chromaticity Tolerance;e-4
        2ae7 s1 Color Rendering Index;[-128,100;!7f:?
        2ae8 f4 Coefficient
        2ae9 u2 Correlated Color Temperature;#2705;!ffff:?
        2aea u2 Count;!ffff:?
        2aeb u3 Count;!ffffff:?
        2aec u2 Country Code;!ffff:?
        2aed u3 Date;#2762;!0:?
        2aee u2 Current;#2704;e-2;!ffff:?
        2aef @2aee Minimum Electric Current Value|@2aee Maximum Electric Current Value
        2af0 @2aee Minimum Electric Current Value|@2aee Typical Electric Current Value|@2aee Maximum Electric Current Value
        2af1 @2aee Average Electric Current Value|@2aee Standard Deviation Electric Current Value|@2aee Minimum Electric Current Value|@2aee Maximum Electric Current Value|@2b13 Sensing Duration
        2af2 u3 Energy;#27ab;!ffffff:?
        2af3 @2af2 Energy Value|@2b12 Start Time|@2b12 End Time
        2af4 @2aea Number of Events|@2b16 Average Event Duration|@2b13 Time Elapsed Since Last Event|@2b13 Sensing Duration
        2af5 t16 Fixed String
        2af6 t24 Fixed String
        2af7 t36 Fixed String
        2af8 t8 Fixed String
        2af9 u2 Generic Level
        2afa u6 Global Trade Item Number;!0:?
        2afb u3 Illuminance;#2731;e-2;[0,16777214;!ffffff:?
        2afc u2 Luminous Efficacy;#27be;e-1;[0,18000;!ffff:?
        2afd u3 Luminous Energy;#27bf;e3;[0,16777214;!ffffff:?
        2afe u3 Luminous Exposure;#27c0;e3;[0,16777214;!ffffff:?
        2aff u2 Luminous Flux;#2730;[0,65534;!ffff:?
        2b00 @2aff Minimum Luminous Flux|@2aff Maximum Luminous Flux
        2b01 u2 Luminous Intensity;#2707;[0,65534;!ffff:?
        2b02 u2 Mass Flow;#27c1;[0,65534;!ffff:?
        2b03 u2 Perceived Lightness
        2b04 u1 Percentage 8;#27ad;p-1;[0,200;!ff:?
        2b05 u3 Power;#2726;e-1;!fffffe:-~ffffff:?
        2b06 @2b05 Minimum Power Value|@2b05 Typical Power Value|@2b05 Maximum Power Value
        2b07 @2b04 Relative Runtime Value|@2aee Minimum Current|@2aee Maximum Current
        2b08 @2b04 Relative Value|@2af9 Minimum Generic Level|@2af9 Maximum Generic Level
        2b09 @2b04 Relative Value|@2b18 Minimum Voltage|@2b18 Maximum Voltage
        2b0a @2b04 Relative Value|@2afb Minimum Illuminance|@2afb Maximum Illuminance
        2b0b @2b04 Relative Value|@2b12 Start Time|@2b12 End Time
        2b0c @2b04 Relative Value|@2a6e Minimum Temperature Value|@2a6e Maximum Temperature Value
        2b0d s1 Temperature 8;#272f;p-1;!7f:?
        2b0e @2b0d Temperature|@2b12 Start Time|@2b12 End Time
        2b0f @2b0d Average|@2b0d Standard Deviation Value|@2b0d Minimum Value|@2b0d Maximum Value|@2b13 Sensing Duration
        2b10 @2a6e Minimum Temperature|@2a6e Maximum Temperature
        2b11 @2a6e Average Temperature|@2a6e Standard Deviation Temperature|@2a6e Minimum Temperature|@2a6e Maximum Temperature|@2b13 Sensing Duration
        2b12 u1 Time Decihour 8;#2761;e-1;[0,239;!ff:?
        2b13 T Time Exponential 8;#2703;!0:0 seconds~fe:the total life of the device~ff:?
        2b14 u3 Time Hour 24;#2761;!ffffff:?
        2b15 u3 Time Millisecond 24;#2703;e-3;!ffffff:?
        2b16 u2 Time Second 16;#2703;!ffff:?
        2b17 u1 Time Second 8;#2703;!ff:?
        2b18 u2 Voltage Value;#2728;p-6;!ffff:?
        2b19 @2b18 Minimum Voltage Value|@2b18 Typical Voltage Value|@2b18 Maximum Voltage Value
        2b1a @2b18 Average Voltage Value|@2b18 Standard Deviation Voltage Value|@2b18 Minimum Voltage Value|@2b18 Maximum Voltage Value|@2b13 Sensing Duration
        2b1b u2 Volume Flow;#27c2;e-3;[0,65534;!ffff:?
        2b1c u2 Chromaticity Coordinate;p-16
        2b29 b0 Client Supported Features;&0:Robust Caching~Enhanced ATT Bearer~Multiple Handle Value Notifications
        2b2a x16 Database Hash
        2b34 b1 Flags;&0:Blood Pressure Measurement Units Flag~Time Stamp Flag~Pulse Rate Flag~User ID Flag~Measurement Status Flag~User Facing Time Flag~Epoch Start 2000 Flag|m2 Systolic (mmHg);?0.0=0;#2781|m2 Diastolic (mmHg);?0.0=0;#2781|m2 Mean Arterial Pressure (mmHg);?0.0=0;#2781|m2 Systolic (kPa);?0.0=1;#2724;e3|m2 Diastolic (kPa);?0.0=1;#2724;e3|m2 Mean Arterial Pressure (kPa);?0.0=1;#2724;e3|u4 Time Stamp;?0.1=1;#2703|m2 Pulse Rate;?0.2=1;#27af|u1 User ID;?0.3=1;!ff:Unknown User|b2 Measurement Status;?0.4=1;&0:Body Movement Detection Flag~Cuff Fit Detection Flag~Irregular Pulse Detection Flag~3-4:Pulse Rate Range Detection Flags^0:Pulse rate is within the range^Pulse rate exceeds upper limit^Pulse rate is less than lower limit~5:Measurement Position Detection Flag|u4 User Facing Time;?0.5=1;#2703
        2b35 b1 Flags;&0:Intermediate Cuff Pressure Measurement Units Flag~Time Stamp Flag~Pulse Rate Flag~User ID Flag~Measurement Status Flag~User Facing Time Flag~Epoch Start 2000 Flag|m2 Intermediate Cuff Pressure Value;?0.0=0;#2781|m2 Intermediate Cuff Pressure Value;?0.0=1;#2724;e3|u4 Time Stamp;?0.1=1;#2703|m2 Pulse Rate;?0.2=1;#27af|u1 User ID;?0.3=1;!ff:Unknown User|b2 Measurement Status;?0.4=1;&0:Body Movement Detection Flag~Cuff Fit Detection Flag~Irregular Pulse Detection Flag~3-4:Pulse Rate Range Detection Flags^0:Pulse rate is within the range^Pulse rate exceeds upper limit^Pulse rate is less than lower limit~5:Measurement Position Detection Flag|u4 User Facing Time;?0.5=1;#2703
        2b36 b1 Segmentation Header;&0:First Segment: the characteristic contains the first segment of a record~Last Segment: The characteristic contains the last segment of a record~2-7:Rolling Segment Counter: 0 to 63|u2 Sequence Number|g2 UUID|x Recorded Characteristic
        2b3a b0 Server Supported Features;&0:EATT Supported
        2b46 g2* Units
        2b47 u2 Height;#2701;e-4
        2b48 t Middle Name
        2b49 u2 Stride Length;#2701;e-3
        2b4a u1 Handedness;=0:Left handed~Right handed~Ambidextrous~Unspecified
        2b4b u1 Device Wearing Position;=0:Other~Head~Head_Ear~Head_Ear_Right~Head_Ear_Left~Head_Neck~Trunk~Trunk_Pelvis~Trunk_Pelvis_Right~Trunk_Pelvis_Left~Trunk_Thorax~Trunk_Thorax_Right~Trunk_Thorax_Left~Trunk_Back~UpperExtremity~UpperExtremity_Right~UpperExtremity_Left~UpperExtremity_Wrist~UpperExtremity_Wrist_Right~UpperExtremity_Wrist_Left~UpperExtremity_Finger~UpperExtremity_Finger_Right~UpperExtremity_Finger_Left~UpperExtremity_Hand~UpperExtremity_Hand_Right~UpperExtremity_Hand_Left~LowerExtremity~LowerExtremity_Right~LowerExtremity_Left~LowerExtremity_Ankle~LowerExtremity_Ankle_Right~LowerExtremity_Ankle_Left~LowerExtremity_Foot~LowerExtremity_Foot_Right~LowerExtremity_Foot_Left~Pants_Pocket~Pants_Pocket_Right~Pants_Pocket_Left~Chest_Pocket~Chest_Pocket_Right~Chest_Pocket_Left
        2b4c u1 Four Zone Heart Rate Limits - Light / Moderate Limit;#27af|u1 Four Zone Heart Rate Limits - Moderate / Hard Limit;#27af|u1 Four Zone Heart Rate Limits - Hard / Maximum Limit;#27af
        2b4d u1 Field Selector;=0:No field is selected~The Threshold as Energy Expenditure per Hour field is selected~The Threshold as Metabolic Equivalent field is selected~The Threshold as Percentage of Maximum Heart Rate field is selected~The Threshold as Heart Rate field is selected|u2 Threshold as Energy Expenditure per Hour;?0==1;#2725;e3|u1 Threshold as Metabolic Equivalent;?0==2;#27b9;e-1|u1 Threshold as Percentage of Maximum Heart Rate;?0==3;#27ad|u1 Threshold as Heart Rate;?0==4;#27af
        2b4e b1 Presence Flags;&0:Total Energy Expenditure Present~Normal Walking Steps Present~Intensity Steps Present~Floor Steps Present~Distance Present~Duration of Normal Walking Present~Duration of Intensity Walking Present|u2 Total Energy Expenditure;?0.0=1;#2725;e3|u3 Normal Walking Steps;?0.1=1|u3 Intensity Steps;?0.2=1|u3 Floor Steps;?0.3=1|u3 Distance;?0.4=1;#2701|u3 Duration of Normal Walking;?0.5=1;#2703|u3 Duration of Intensity Walking;?0.6=1;#2703
        2b4f u2 Sedentary Interval Notification;#2703
        2b50 u2 Caloric Intake;#27aa
        2b7d u1 Volume Setting|u1 Mute;=0:Not muted~Muted|u1 Change Counter
        2b7f b1 Volume Flags;&0:Volume setting persisted
        2b89 u4 Apparent Energy 32;#27c7;e-3;!fffffffe:-~ffffffff:?
        2b8a u3 Apparent Power;#27c8;e-1;!fffffe:-~ffffff:?
        2b8c u2 CO2 Concentration;#27c4;!fffe:value is 65534 or greater~ffff:?
        2b8d s1 Cosine of the Angle;e-2;[-100,100;!7f:?
        2ba8 u4 Energy 32;#27ab;e-3;!fffffffe:-~ffffffff:?
        2bba u1 Content Control ID
        2bcf m2 Ammonia Concentration;#2715
        2bd0 m2 Carbon Monoxide Concentration;#2715
        2bd1 m2 Methane Concentration;#27c5
        2bd2 m2 Nitrogen Dioxide Concentration;#2715
        2bd3 m2 Non-Methane Volatile Organic Compounds Concentration;#2715
        2bd4 m2 Ozone Concentration;#2715
        2bd5 m2 Particulate Matter - PM1 Concentration;#2715
        2bd6 m2 Particulate Matter - PM2.5 Concentration;#2715
        2bd7 m2 Particulate Matter - PM10 Concentration;#2715
        2bd8 m2 Sulfur Dioxide Concentration;#2715
        2bd9 m2 Sulfur Hexafluoride Concentration;#2715
        2bde t64 Fixed String 64
        2bdf s2 High Temperature;#272f;p-1;[-546,32767;!8001:-~8000:?
        2be0 u3 High Voltage;#2728;p-6;!ffffff:?
        2be1 u1 Light Distribution;=0:Type not specified~Type I~Type II~Type III~Type IV~Type V
        2be2 u3 Light Output;#2730;!fffffe:-~ffffff:?
        2be3 u1 Light Source Type;=0:Type not specified~Low pressure fluorescent~High intensity discharge (HID)~Low voltage halogen~Incandescent~Light emitting diode (LED)~Organic light emitting diode (OLED)~253:Other than listed above~No light source~Multiple light source types
        2be4 u1 Noise;#27c3;!fe:value is 254 or greater~ff:?
        2be5 @2b04 Relative Runtime|@2ae9 Minimum Correlated Color Temperature|@2ae9 Maximum Correlated Color Temperature
        2be6 u4 Time Second 32;#2703;!ffffffff:?
        2be7 u2 VOC Concentration;#27c5;!fffe:value is 65534 or greater~ffff:?
        2be8 u2 Voltage Frequency;#2722;!0:DC power supply~fffe:-~ffff:?
        2be9 b1 Battery Critical Status;&0:Critical Power State~Immediate Service Required
        2bea b1 Flags;&0:Battery Health Summary Present~Cycle Count Present~Current Temperature Present~Deep Discharge Count Present|u1 Battery Health Summary;?0.0=1;#27ad|u2 Cycle Count;?0.1=1|s1 Current Temperature;?0.2=1;#272f;!7f:Greater than 126~80:Less than -127|u2 Deep Discharge Count;?0.3=1
        2beb b1 Flags;&0:Cycle Count Designed Lifetime Present~Min and Max Designed Operating Temperature Present|u2 Cycle Count Designed Lifetime;?0.0=1|s1 Min Designed Operating Temperature;?0.1=1;#272f;!7f:Greater than 126~80:Less than -127|s1 Max Designed Operating Temperature;?0.1=1;#272f;!7f:Greater than 126~80:Less than -127
        2bec b2 Flags;&0:Battery Manufacture Date Present~Battery Expiration Date Present~Battery Designed Capacity Present~Battery Low Energy Present~Battery Critical Energy Present~Battery Chemistry Present~Nominal Voltage Present~Battery Aggregation Group Present|b1 Battery Features;&0:Battery Replaceable~Battery Rechargeable|@2aed Battery Manufacture Date;?0.0=1|@2aed Battery Expiration Date;?0.1=1|m2 Battery Designed Capacity;?0.2=1;#27ab|m2 Battery Low Energy;?0.3=1;#27ab|m2 Battery Critical Energy;?0.4=1;#27ab|u1 Battery Chemistry;?0.5=1;=0:Unknown~Alkaline (zinc-manganese dioxide)~Lead Acid~Lithium (lithium-iron disulfide) LiFeS2~Lithium (lithium-manganese dioxide) LiMnO2~Lithium Ion Li~Lithium Polymer~Nickel Oxyhydroxide (zinc-manganese dioxide/oxy nickel hydroxide) NiOx~Nickel Cadmium NiCd~Nickel-metal Hydride NiMH~Silver Oxide (silver-zinc) AgZn~Zinc Chloride~Zinc Air~Zinc Carbon~255:Other|m2 Nominal Voltage;?0.6=1;#2728|u1 Battery Aggregation Group;?0.7=1;!0:Not in an aggregation group
        2bed b1 Flags;&0:Identifier Present~Battery Level Present~Additional Status Present|b2 Power State;&0:Battery Present~1-2:Wired External Power Source Connected^0:No^Yes^Unknown~3-4:Wireless External Power Source Connected^0:No^Yes^Unknown~5-6:Battery Charge State^0:Unknown^Charging^Discharging: Active^Discharging: Inactive~7-8:Battery Charge Level^0:Unknown^Good^Low^Critical~9-11:Charging Type^0:Unknown or Not Charging^Constant Current^Constant Voltage^Trickle^Float~12:Charging Fault Reason: Battery~Charging Fault Reason: External Power source~Charging Fault Reason: Other|u2 Identifier;?0.0=1|@2a19 Battery Level;?0.1=1|b1 Additional Status;?0.2=1;&0-1:Service Required^0:False^True^Unknown~2:Battery Fault
        2bee b1 Flags;&0:Time until Discharged on Standby Present~Time until Recharged Present|u3 Time until Discharged;#2760;!ffffff:Unknown~fffffe:Greater than 0xFFFFFD|u3 Time until Discharged on Standby;?0.0=1;#2760;!ffffff:Unknown~fffffe:Greater than 0xFFFFFD|u3 Time until Recharged;?0.1=1;#2760;!ffffff:Unknown~fffffe:Greater than 0xFFFFFD
        2bef @2aed Estimated Service Date
        2bf0 b1 Flags;&0:External Source Power Present~Present Voltage Present~Available Energy Present~Available Battery Capacity Present~Charge Rate Present~Available Energy at Last Charge Present|m2 External Source Power;?0.0=1;#2726|m2 Present Voltage;?0.1=1;#2728|m2 Available Energy;?0.2=1;#27ab|m2 Available Battery Capacity;?0.3=1;#27ab|m2 Charge Rate;?0.4=1;#2726|m2 Available Energy at Last Charge;?0.5=1;#27ab
        2bf2 b1 Flags;&0:Time is a tick counter~Time is UTC~2-3:Time resolution^0:1 second^100 milliseconds^1 millisecond^100 microseconds~4:TZ/DST offset is used~Time stamp is from the current timeline|u6 Time Value;?0.2=0,0.3=0;#2703|u6 Time Value;?0.2=1,0.3=0;#2703;e-1|u6 Time Value;?0.2=0,0.3=1;#2703;e-3|u6 Time Value;?0.2=1,0.3=1;#2703;e-4|@2a13 Time Sync Source Type|s1 TZ/DST Offset
        2bff b1 Flags;&0:UDI Label is present~UDI Device Identifier is present~UDI Issuer is present~UDI Authority is present|z UDI Label;?0.0=1|z UDI Device Identifier;?0.1=1|z UDI Issuer;?0.2=1|z UDI Authority;?0.3=1
        2c05 u1 Percentage 8 Steps;[1,200;!ff:?
        2c06 s4 Acceleration;#2713;e-3;!7fffffff:?
        2c07 s4 Force;#2723;e-3;!7fffffff:?
        2c08 s4 Linear Position;#2701;e-7;!7fffffff:?
        2c09 s4 Rotational Speed;#27a8;!7fffffff:?
        2c0a u4 Length;#2701;e-7;!ffffffff:?
        2c0b s4 Torque;#2741;e-2;!7fffffff:?
        2c1b u1 Humidity 8;#27ad;p-1;[0,200;!ff:?
        2c1c u2 Illuminance 16;#2731;!ffff:?
        2c1d s1 Vector X;#27c9;e-2;!7e:out of range~7f:?|s1 Vector Y;#27c9;e-2;!7e:out of range~7f:?|s1 Vector Z;#27c9;e-2;!7e:out of range~7f:?
        2c1e s2 Vector X;#27c9;e-3;!7ffe:out of range~7fff:?|s2 Vector Y;#27c9;e-3;!7ffe:out of range~7fff:?|s2 Vector Z;#27c9;e-3;!7ffe:out of range~7fff:?
        2c1f u1 Acceleration Detection Status;=0:No change in acceleration detected~Change in acceleration detected
        2c20 u1 Open Status;=0:Open~Closed~Tilted/Ajar
        2c21 %2 Button 0 Status;=0:Button not actuated or not in use~Button pressed~Button released~Button held|%2 Button 1 Status;=0:Button not actuated or not in use~Button pressed~Button released~Button held|%2 Button 2 Status;=0:Button not actuated or not in use~Button pressed~Button released~Button held|%2 Button 3 Status;=0:Button not actuated or not in use~Button pressed~Button released~Button held
        2c22 %1 Contact 0 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 1 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 2 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 3 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 4 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 5 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 6 Status;=0:Contact is open or not in use~Contact is closed|%1 Contact 7 Status;=0:Contact is open or not in use~Contact is closed
        2c26 u1 Op Code;=0:Read~Start~Stop~Delete|u2 Cooking Step Index;?
        2c27 b2 Flags;&0:Overshoot Prevention flag~Last Cooking Step flag~User Action Required flag~Temperature Field Present flag~Temperature Gradient Field Present flag~Humidity Field Present flag~Termination Condition Field Present flag|u2 Cooking Step Index;!0:Unknown|u1 Cooking Process Type;=0:No cooking~Preheating~Baking~Boiling~Braising~Broiling~Cooling~Freezing~Frying~Grilling~Melting~Poaching~Roasting~Sauteing~Simmering~Sous Vide~Steaming~Stewing~255:Other / Unknown|u2 Duration;?2!0|@2c2e Temperature;?0.3=1|s1 Temperature Gradient;?0.3=1,0.4=1;#=K/s;e-1|@2a6f Humidity;?0.5=1|b2 Termination Condition;?0.6=1;&0:Temperature Increase Condition~Temperature Decrease Condition~Humidity Increase Condition~Humidity Decrease Condition~15:Logical AND
        2c28 b1 Flags;&0:User Action Required flag~Last Cooking Step flag~Cooking Step Started flag|u2 Cooking Step Index;!0:Unknown|u2 Remaining Time;#2703;!0:no cooking step is being executed~ffff:?
        2c29 b2 Flags;&0:cooking appliance supports aggregation, and this cooking zone can be aggregated with another cooking zone~cooking zone can be controlled by setting a power level (e.g., in cooktops)~cooking zone can be controlled by setting a target temperature (e.g., in ovens)~cooking zone supports setting the humidity (steam) level~cooking zone supports setting the blower fan airflow~cooking zone can be controlled by setting manufacturer specific data|u1 Power Technology;=0:Heating Unknown / Other~Heating Induction~Heating Gas~Heating Radiant~Cooling Refrigeration~Cooling Freezer~255:Manufacturer Specific|u2 Number of Cooking Steps|@2b05 Nominal Power;?0.1=1|u1 Boost Level;?0.1=1;#27ad|@2c2f Minimum Available Power;?0.1=1|@2c2e Maximum Temperature;?0.2=1|@2c2e Minimum Temperature;?0.2=1|@2c30 Maximum Blower Fan Airflow;?0.4=1
        2c2e s2 Temperature;#272f;e-1;[-1000,10000;!8000:?
        2c2f u2 Cooking Zone Perceived Power;#27ad;e-1;[0,3550
        2c30 u2 Kitchen Appliance Airflow;#27c2;!ffff:?

        """#)
    }
}
